"""Functions to read a service's HTTP reply, for `decode` of a `Wire`.

`reply_object` parses the body, `reply_member`, `reply_objects` and `token_count` read its fields, `finish_of` and
`read_arguments` interpret them, and `reply_error` creates the `ProviderError` for an unsuccessful status.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeVar

from code_commit.plugin_api.conversation import Finish, Json, Part, ProviderError, ProviderErrorKind, ToolCall

T = TypeVar("T")

_LONGEST_QUOTE = 500  # characters
_REASON = re.compile(r"[A-Za-z][A-Za-z_]{1,63}")  # a name; a key has digits
# What services say about an account without credit, whatever the status.
_OUT_OF_CREDIT = re.compile(
    r"spend(ing)? (limit|cap)|credits are depleted|credit balance is too low|insufficient (balance|credit|funds)|"
    r"billing (account )?(is )?(disabled|not enabled)|reached your specified (API )?usage limits",
    re.IGNORECASE,
)
_UNAUTHORIZED, _FORBIDDEN, _FIRST_ERROR = 401, 403, 400  # HTTP statuses
_NO_HEADERS: Mapping[str, str] = {}

_MEANING: dict[ProviderErrorKind, str] = {
    "auth": "the service rejected the key",
    "quota": "the account's quota or credit is used up",
    "rate": "the service limits the rate of requests",
    "network": "the service could not be reached",
    "server": "the service failed",
    "rejected": "the service rejected the request",
    "invalid_response": "the reply cannot be parsed",
}


def reply_object(body: bytes, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS) -> dict[str, Any]:
    """Return the JSON object in `body`. If it is a list of one object, like Google's errors, return that object.

    Raises:
        ProviderError: there is no object. The message describes the body; the kind is invalid_response, or that of an
            unsuccessful `status`.
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
        f"in the reply, {name!r} has the unexpected JSON type {_json_type(value)}", kind="invalid_response"
    )


def reply_objects(owner: Json, name: str) -> list[dict[str, Any]]:
    """Return member `name` of `owner`, a list of objects, empty if it is absent or null.

    Raises:
        ProviderError: invalid_response, if it is anything else.
    """
    values = reply_member(owner, name, list) or []
    if [value for value in values if not isinstance(value, dict)]:  # in each event of a stream: faster than `all`
        raise ProviderError(f"in the reply, {name!r} contains an item that is not an object", kind="invalid_response")
    return values


def token_count(usage: Json, name: str) -> int | None:
    """Return a number of tokens, or None if it is missing or invalid."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def read_arguments(written: object) -> tuple[dict[str, Any] | None, str]:
    """Return a tool call's arguments as (object, raw text), from the JSON text or object that the model wrote.

    The object is None if the text is not a JSON object of valid Unicode. An empty text means no arguments.
    """
    raw = written if isinstance(written, str) else "" if written is None else json.dumps(written, ensure_ascii=False)
    if not raw.isascii():
        raw = raw.encode("utf-8", "backslashreplace").decode()  # a lone surrogate as JSON escapes it
    try:
        value = json.loads(raw) if raw.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None, raw
    return (value if isinstance(value, dict) else None), raw


def with_ids(parts: Sequence[Part], reply: str) -> tuple[Part, ...]:
    """Return `parts` with an id for each tool call that has none.

    The ids are the same for the same calls in the same `reply`, whether it was streamed or not: pass what the service
    always sends, such as its id of the reply and the usage.
    """
    calls = [(part.name, part.raw) for part in parts if isinstance(part, ToolCall)]
    prefix = f"call_{sha256(f'{reply} {calls}'.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"
    return tuple(
        replace(part, id=f"{prefix}_{number}") if isinstance(part, ToolCall) and not part.id else part
        for number, part in enumerate(parts)
    )


def limit_parts(kept: Sized, most: int = 10_000) -> None:
    """Limit the parts that a `StreamDecoder` keeps of a reply: events of some bytes could fill the memory with them.

    Raises:
        ProviderError: invalid_response, if there are `most` parts.
    """
    if len(kept) >= most:
        raise ProviderError("the reply has too many parts", kind="invalid_response")


def finish_of(word: str, meanings: Mapping[str, Finish], parts: Collection[Part | None]) -> Finish:
    """Return what a service's finish reason means: UNKNOWN if it is not in `meanings`, or reports calls without any.

    With tool calls, STOP becomes TOOL_CALLS: some services have one reason for both.
    """
    finish = meanings.get(word, Finish.UNKNOWN)
    calls = any(isinstance(part, ToolCall) for part in parts)
    if finish is Finish.STOP and calls:
        return Finish.TOOL_CALLS
    return Finish.UNKNOWN if finish is Finish.TOOL_CALLS and not calls else finish


def kind_of_status(status: int) -> ProviderErrorKind:
    """Return the kind of error for an HTTP status. A success is `rejected`, because its body contains an error."""
    if status in {_UNAUTHORIZED, _FORBIDDEN}:
        return "auth"
    if status == 402:  # noqa: PLR2004 - Payment Required
        return "quota"
    if status == 429:  # noqa: PLR2004 - Too Many Requests
        return "rate"
    if status in {408, 409} or status >= 500:  # noqa: PLR2004 - the server's errors, 529 included
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
    """Return the error for an unsuccessful reply. `kind` overrides the meaning of `status`; `words` is the service's
    message, `reason` its machine-readable one, such as `SERVICE_DISABLED`. Words about used up credit mean `quota`.

    A 401 is always `auth`, unless `kind` is `quota`. An `auth` error shows `reason`, never `words`: services quote the
    key in them.
    """
    kind = kind or kind_of_status(status)
    if status == _UNAUTHORIZED and kind != "quota":
        kind = "auth"
    elif _OUT_OF_CREDIT.search(words):
        kind = "quota"
    meaning = _MEANING[kind]
    quoted = " ".join(words.split())
    if len(quoted) > _LONGEST_QUOTE:
        quoted = quoted[:_LONGEST_QUOTE] + "…"
    quoted = f': "{quoted}"' if quoted else ""
    if kind == "auth":
        quoted = f": {reason}" if _REASON.fullmatch(reason) else ""
        if status == _FORBIDDEN:
            meaning = "the key does not have permission for this"
    number = f" (HTTP {status})" if status >= _FIRST_ERROR else ""  # a success has an error in its body or stream
    return ProviderError(f"{meaning}{number}{quoted}", kind=kind, retry_after=retry_after)


def _description(body: bytes, headers: Mapping[str, str]) -> str:
    start = body[:1000].lstrip().lower()
    if not start:
        return "empty"
    if "text/event-stream" in headers.get("content-type", "").lower() or start.startswith((b"data:", b"event:")):
        return "a stream of events"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")):
        return "a web page"
    return "invalid or truncated" if start.startswith((b"{", b"[")) else "something else"


def _json_type(value: object) -> str:
    names = {str: "string", bool: "boolean", list: "list", dict: "object", type(None): "null"}
    return names.get(type(value), "number")
