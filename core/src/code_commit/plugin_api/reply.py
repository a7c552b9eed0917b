"""Functions to read a service's HTTP reply, for `decode` of a `Wire`.

`reply_object` parses the body and `event_object` an event of a stream; `reply_member`,
`reply_objects` and `token_count` read their fields; `finish_of` and `read_arguments` interpret
them. `service_error` creates the `ProviderError` of an error in JSON, `reply_error` that of any
other. Two tables say what the finish words and the names of errors of all services mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from code_commit.plugin_api.conversation import (
    Finish,
    Json,
    Part,
    ProviderError,
    ProviderErrorKind,
    ToolCall,
)
from code_commit_workspace.words import shorten

if TYPE_CHECKING:
    from code_commit.plugin_api.provider import StreamEvent

T = TypeVar("T")

_LONGEST_QUOTE = 500  # characters
_REASON = re.compile(r"[A-Za-z][A-Za-z_]{1,63}")  # a name; a key has digits
# What services say about an account without credit, whatever the status.
_OUT_OF_CREDIT = re.compile(
    r"spend(ing)? (limit|cap)|credits are depleted|credit balance is too low|insufficient (balance|credit|funds)|"
    r"billing (account )?(is )?(disabled|not enabled)|reached your specified (API )?usage limits",
    re.IGNORECASE,
)
_UNAUTHORIZED, _FORBIDDEN, _FIRST_ERROR, _LAST_ERROR = 401, 403, 400, 599  # HTTP statuses
_NO_HEADERS: Mapping[str, str] = {}

# The finish words of services, in lower case.
FINISH_WORDS: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "end_turn": Finish.STOP,  # Anthropic, Bedrock
    "stop_sequence": Finish.STOP,  # the same, TGI
    "eos": Finish.STOP,  # Together
    "eos_token": Finish.STOP,  # TGI
    "complete": Finish.STOP,  # Cohere
    "tool_calls": Finish.TOOL_CALLS,
    "tool_call": Finish.TOOL_CALLS,  # Cohere
    "tool_use": Finish.TOOL_CALLS,  # Anthropic, Bedrock
    "function_call": Finish.TOOL_CALLS,
    "pause_turn": Finish.PAUSED,  # Anthropic
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,  # Anthropic, Gemini, Bedrock
    "model_length": Finish.LENGTH,  # Mistral
    "model_context_window_exceeded": Finish.LENGTH,  # Anthropic, Zhipu
    "refusal": Finish.REFUSED,  # Anthropic
    "content_filter": Finish.FILTERED,
    "content_filtered": Finish.FILTERED,  # Bedrock
    "guardrail_intervened": Finish.FILTERED,  # Bedrock
    "sensitive": Finish.FILTERED,  # Zhipu
    "safety": Finish.FILTERED,  # Gemini; the next ones too
    "recitation": Finish.FILTERED,
    "language": Finish.FILTERED,
    "blocklist": Finish.FILTERED,
    "prohibited_content": Finish.FILTERED,
    "spii": Finish.FILTERED,
    "model_armor": Finish.FILTERED,
    "image_safety": Finish.FILTERED,
    "image_prohibited_content": Finish.FILTERED,
    "image_recitation": Finish.FILTERED,
}
# What a word that is not in the table means if it contains one of these. Any other word means CUT.
_FINISH_HINTS: Mapping[Finish, tuple[str, ...]] = {
    Finish.LENGTH: ("length", "max_token", "maxtoken", "context", "window"),
    Finish.CUT: ("abort", "error", "insufficient", "timeout"),
    Finish.FILTERED: ("filter", "safety", "sensitive", "recitation", "refusal"),
}

# What the name of an error, its type or code, means if it contains one of these, in lower case with
# underscores: the first match counts. `rate` and `server` are retried.
_ERROR_NAMES: Mapping[ProviderErrorKind, tuple[str, ...]] = {
    "rate": ("rate_limit", "ratelimit", "too_many_requests", "throttl", "resource_exhausted"),
    "server": (
        *(
            "overload",
            "unavailable",
            "timeout",
            "timed_out",
            "server_error",
            "internal",
            "api_error",
            "bad_gateway",
        ),
        *("deadline_exceeded", "cancelled", "capacity", "busy"),
    ),
    "quota": ("quota", "billing", "credit", "insufficient_balance", "spend_limit", "usage_limit"),
    "auth": (
        "authentication",
        "unauthenticated",
        "unauthorized",
        "permission",
        "forbidden",
        "api_key",
    ),
    "rejected": (
        *("invalid", "not_found", "bad_request", "filter", "policy", "safety", "sensitive"),
        *("context", "model", "unsupported", "too_large"),
    ),
}
# Zhipu's numbers that are permanent; others, such as 1302 and 1305, are limits of the moment.
_ERROR_NUMBERS: Mapping[ProviderErrorKind, frozenset[str]] = {
    "auth": frozenset({"1000", "1001", "1002", "1003", "1004", "1220"}),
    "quota": frozenset({"1110", "1111", "1112", "1113", "1304", "1308", "1309", "1310"}),
    "rejected": frozenset(
        {"1210", "1211", "1212", "1213", "1214", "1215", "1221", "1222", "1261", "1301"}
    ),
}
_TOO_GENERAL = "api_error"  # gateways send it with any status
_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-\s]+")

_MEANING: dict[ProviderErrorKind, str] = {
    "auth": "the service rejected the key",
    "quota": "the account's quota or credit is used up",
    "rate": "the service limits the rate of requests",
    "network": "the service could not be reached",
    "server": "the service failed",
    "rejected": "the service rejected the request",
    "invalid_response": "the reply cannot be parsed",
}


def reply_object(
    body: bytes, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
) -> dict[str, Any]:
    """Return the JSON object in `body`.

    If it is a list of one object, like Google's errors, return that object.

    Raises:
        ProviderError: there is no object. The message describes the body; the kind is
            invalid_response, or that of an unsuccessful `status`.
    """
    try:
        value, fault = _parsed(body), ""
    except (ValueError, RecursionError):
        value, fault = None, f"the reply is {_description(body, headers)}, not JSON"
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        return value
    fault = fault or f"the reply is a JSON {_json_type(value)}, not an object"
    if status >= _FIRST_ERROR:
        raise reply_error(status, words=fault)
    raise ProviderError(fault, kind="invalid_response")


def event_object(event: StreamEvent) -> dict[str, Any]:
    """Return the JSON object of an event of a stream. One named `error` has a member `error`.

    Raises:
        ProviderError: there is no object. The kind is `network` if a part of it is missing, which
            happens on the way, and invalid_response otherwise.
    """
    is_error = event.name == "error"
    try:
        value = reply_object(event.data)
    except ProviderError:
        if is_error and event.data.strip():
            return {"error": event.data.decode("utf-8", "replace")}
        if _is_cut_off(event.data):
            raise ProviderError("the reply broke off inside an event", kind="network") from None
        raise
    return value if value.get("error") or not is_error else {"error": value}


def _is_cut_off(data: bytes) -> bool:
    """Return whether `data` is the beginning of a JSON object."""
    import pydantic_core

    if not data.lstrip().startswith(b"{"):
        return False
    try:
        pydantic_core.from_json(data, allow_partial="trailing-strings")
    except ValueError:
        return False
    return True


def _parsed(body: bytes) -> Any:
    import pydantic_core

    try:
        return pydantic_core.from_json(body)  # needs a third of the memory of json.loads
    except ValueError:
        return json.loads(body)  # accepts lone surrogates, other encodings and deeper nesting


def reply_member(owner: Json, name: str, kind: type[T]) -> T | None:
    """Return member `name` of `owner`, or None if it is absent or null.

    Raises:
        ProviderError: invalid_response, if its type is not `kind`.
    """
    value = owner.get(name)
    if value is None or isinstance(value, kind):
        return value
    raise ProviderError(
        f"in the reply, {name!r} has the unexpected JSON type {_json_type(value)}",
        kind="invalid_response",
    )


def reply_objects(owner: Json, name: str) -> list[dict[str, Any]]:
    """Return member `name` of `owner`, a list of objects, empty if it is absent or null.

    Raises:
        ProviderError: invalid_response, if it is anything else.
    """
    values = reply_member(owner, name, list) or []
    # In each event of a stream: faster than `all`
    if [value for value in values if not isinstance(value, dict)]:
        raise ProviderError(
            f"in the reply, {name!r} contains an item that is not an object",
            kind="invalid_response",
        )
    return values


def token_count(usage: Json, name: str) -> int | None:
    """Return a number of tokens, or None if it is missing or invalid."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def read_arguments(written: object) -> tuple[dict[str, Any] | None, str]:
    """Return a tool call's arguments as (object, raw text), from the JSON text or object that the
    model wrote.

    The object is None if the text is not a JSON object of valid Unicode. An empty text means no
    arguments.
    """
    raw = (
        written
        if isinstance(written, str)
        else ""
        if written is None
        else json.dumps(written, ensure_ascii=False)
    )
    if not raw.isascii():
        # A lone surrogate as JSON escapes it.
        raw = raw.encode("utf-8", "backslashreplace").decode()
    try:
        value = json.loads(raw) if raw.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None, raw
    return (value if isinstance(value, dict) else None), raw


def with_ids(parts: Sequence[Part], reply: str) -> tuple[Part, ...]:
    """Return `parts` with an id for each tool call that has none.

    The ids are the same for the same calls in the same `reply`, whether it was streamed or not:
    pass what the service always sends, such as its id of the reply and the usage.
    """
    calls = [(part.name, part.raw) for part in parts if isinstance(part, ToolCall)]
    prefix = (
        f"call_{sha256(f'{reply} {calls}'.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"
    )
    return tuple(
        replace(part, id=f"{prefix}_{number}")
        if isinstance(part, ToolCall) and not part.id
        else part
        for number, part in enumerate(parts)
    )


def limit_parts(kept: Sized, most: int = 10_000) -> None:
    """Limit the parts that a `StreamDecoder` keeps of a reply: events of some bytes could fill the
    memory with them.

    Raises:
        ProviderError: invalid_response, if there are `most` parts.
    """
    if len(kept) >= most:
        raise ProviderError("the reply has too many parts", kind="invalid_response")


_NO_WORDS: Mapping[str, Finish] = {}


def finish_of(
    word: str | None,
    parts: Collection[Part | None],
    meanings: Mapping[str, Finish] = _NO_WORDS,
) -> Finish:
    """Return what a service's finish reason means. `meanings` are words that only this service has.

    No word, absent or empty, means that the reply is whole. A word that nobody knows means LENGTH,
    CUT or FILTERED, never a whole reply. With tool calls, STOP becomes TOOL_CALLS: some services
    have one reason for both. A word for tool calls without any means CUT.
    """
    finish = _meaning_of((word or "").strip(), meanings)
    calls = any(isinstance(part, ToolCall) for part in parts)
    if finish is Finish.STOP and calls:
        return Finish.TOOL_CALLS
    return Finish.CUT if finish is Finish.TOOL_CALLS and not calls else finish


def _meaning_of(word: str, meanings: Mapping[str, Finish]) -> Finish:
    if not word:
        return Finish.STOP
    name = _in_lower_case(word)
    known = meanings.get(word) or FINISH_WORDS.get(name)
    if known is not None:
        return known
    for finish, hints in _FINISH_HINTS.items():
        if any(hint in name for hint in hints):
            return finish
    return Finish.CUT


def _in_lower_case(name: str) -> str:
    """Return a name that a service may write as `max-tokens`, `MAX_TOKENS` or `MaxTokens` as
    `max_tokens`.
    """
    return _WORD_BORDER.sub("_", name).lower()


def error_details(reply: Json) -> tuple[str, tuple[str, ...]]:
    """Return the message of an error in a reply, and its names: code, type and status, as far as it
    has them.

    It reads `{"error": {…}}`, `{"error": "…"}` and an error without a member `error`.
    """
    error = reply.get("error", reply)
    fields = error if isinstance(error, dict) else reply
    words = (
        error
        if isinstance(error, str)
        else fields.get("message") or fields.get("detail") or fields.get("msg")
    )
    inner = fields.get("innererror")
    values = [fields.get("code"), inner.get("code") if isinstance(inner, dict) else None]
    values += [fields.get("type"), fields.get("status")]
    names = tuple(
        str(value)
        for value in values
        if isinstance(value, str | int) and not isinstance(value, bool)
    )
    return str(words or ""), tuple(name for name in names if name)


def kind_of_error(status: int, names: Sequence[str]) -> ProviderErrorKind:
    """Return the kind of an error by its HTTP status and its names, the most specific one first.

    An error in a reply of status 200 is retried, unless one of its names is known as permanent; a
    code such as `"429"` counts as a status. For other statuses, names decide only where the status
    tells too little.
    """
    kinds = [kind for kind in map(_kind_of_name, names) if kind is not None]
    for permanent in ("quota", "auth"):
        if permanent in kinds:
            return permanent
    meant = kind_of_status(_meant_status(status, names))
    if status >= _FIRST_ERROR:
        if meant == "rejected":
            specific = [
                _kind_of_name(name) for name in names if _in_lower_case(name) != _TOO_GENERAL
            ]
            for passing in ("rate", "server"):
                if passing in specific:
                    return passing
        return meant
    named = kinds[0] if kinds else None
    if named == "rejected" or (named and meant == "rejected"):
        return named
    return meant if _meant_status(status, names) >= _FIRST_ERROR else named or "server"


def _kind_of_name(name: str) -> ProviderErrorKind | None:
    lower = _in_lower_case(name)
    for kind, words in _ERROR_NAMES.items():
        if any(word in lower for word in words):
            return kind
    return next((kind for kind, numbers in _ERROR_NUMBERS.items() if name in numbers), None)


def _meant_status(status: int, names: Sequence[str]) -> int:
    """Return the HTTP status of an error: some services send it as its code, in a reply of status
    200.
    """
    if status >= _FIRST_ERROR:
        return status
    numbers = (int(name) for name in names if len(name) == 3 and name.isdecimal())  # noqa: PLR2004 - digits
    return next((number for number in numbers if _FIRST_ERROR <= number <= _LAST_ERROR), status)


def service_error(
    status: int,
    reply: Json,
    *,
    kind: ProviderErrorKind | None = None,
    reason: str = "",
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error that `reply` contains, whatever its HTTP status.

    `kind` overrides `kind_of_error`, and `reason` the first name of the error."""
    words, names = error_details(reply)
    reasons = [name for name in (reason, *names) if _REASON.fullmatch(name)]
    return reply_error(
        _meant_status(status, names),
        kind=kind or kind_of_error(status, names),
        words=words or ", ".join(names),
        reason=reasons[0] if reasons else "",
        retry_after=retry_after,
    )


def kind_of_status(status: int) -> ProviderErrorKind:
    """Return the kind of error for an HTTP status.

    A success, whose body has an error, is `server`.
    """
    if status in {_UNAUTHORIZED, _FORBIDDEN}:
        return "auth"
    if status == 402:  # noqa: PLR2004 - Payment Required
        return "quota"
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        return "rate"
    if status < _FIRST_ERROR or status in {408, 409} or status >= 500:  # noqa: PLR2004 - 529 included
        return "server"
    return "rejected"


def reply_error(
    status: int,
    *,
    kind: ProviderErrorKind | None = None,
    words: str = "",
    reason: str = "",
    retry_after: float | None = None,
) -> ProviderError:
    """Return the error for an unsuccessful reply.

    `kind` overrides the meaning of `status`; `words` is the service's message, `reason` its
    machine-readable one, such as `SERVICE_DISABLED`. Words about used up credit mean `quota`.

    A 401 is always `auth`, unless `kind` is `quota`. An `auth` error shows `reason`, never `words`:
    services quote the key in them.
    """
    kind = kind or kind_of_status(status)
    if status == _UNAUTHORIZED and kind != "quota":
        kind = "auth"
    elif _OUT_OF_CREDIT.search(words):
        kind = "quota"
    meaning = _MEANING[kind]
    quoted = shorten(" ".join(words.split()), _LONGEST_QUOTE)
    quoted = f': "{quoted}"' if quoted else ""
    if kind == "auth":
        quoted = f": {reason}" if _REASON.fullmatch(reason) else ""
        if status == _FORBIDDEN:
            meaning = "the key does not have permission for this"
    # A success has an error in its body or stream.
    number = f" (HTTP {status})" if status >= _FIRST_ERROR else ""
    return ProviderError(f"{meaning}{number}{quoted}", kind=kind, retry_after=retry_after)


def _description(body: bytes, headers: Mapping[str, str]) -> str:
    start = body[:1000].lstrip().lower()
    if not start:
        return "empty"
    if "text/event-stream" in headers.get("content-type", "").lower() or start.startswith(
        (b"data:", b"event:")
    ):
        return "a stream of events"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")):
        return "a web page"
    return "invalid or truncated" if start.startswith((b"{", b"[")) else "something else"


def _json_type(value: object) -> str:
    names = {str: "string", bool: "boolean", list: "list", dict: "object", type(None): "null"}
    return names.get(type(value), "number")
