"""Functions to read a service's HTTP answer, for `decode` of a `Wire`.

`reply_object` parses the body, `reply_member` and `token_count` read its fields, and `reply_error` creates the
`ProviderError` for an unsuccessful status.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from code_commit.plugin_api.conversation import Json, ProviderError, ProviderErrorKind

T = TypeVar("T")

_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_QUOTE = 500  # characters

_MEANING: dict[ProviderErrorKind, str] = {
    "auth": "the service did not accept the key",
    "quota": "the account's quota or credit is used up",
    "rate": "the service is limiting requests",
    "network": "the service could not be reached",
    "server": "the service failed",
    "rejected": "the service rejected the request",
    "invalid_response": "the answer cannot be parsed",
}


def reply_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`. If it is a list of one object, like Google's errors, return that object.

    Lone surrogates, which no file can contain, become U+FFFD.

    Raises:
        ProviderError: invalid_response; the message describes the body.
    """
    try:
        value = _parsed(body)
    except (ValueError, RecursionError):
        raise ProviderError(f"the answer is {_description(body)}, not JSON", kind="invalid_response") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise ProviderError(f"the answer is a JSON {_json_type(value)}, not an object", kind="invalid_response")
    answer: dict[str, Any] = _without_lone_surrogates(value) if _ESCAPED_SURROGATE.search(body) else value
    return answer


def _parsed(body: bytes) -> Any:
    from pydantic_core import from_json

    try:
        return from_json(body)  # needs a third of the memory of json.loads
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
        f"in the answer, {name!r} has the unexpected JSON type {_json_type(value)}", kind="invalid_response"
    )


def reply_objects(owner: Json, name: str) -> list[dict[str, Any]]:
    """Return member `name` of `owner`, a list of objects, empty if it is absent or null.

    Raises:
        ProviderError: invalid_response, if it is anything else.
    """
    values = reply_member(owner, name, list) or []
    if all(isinstance(value, dict) for value in values):
        return values
    raise ProviderError(f"in the answer, {name!r} contains an item that is not an object", kind="invalid_response")


def token_count(usage: Json, name: str) -> int | None:
    """Return a number of tokens, or None if it is missing or invalid."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def read_arguments(written: object) -> tuple[dict[str, Any] | None, str]:
    """Return a tool call's arguments as (object, raw text), from the JSON text or object that the model wrote.

    The object is None if the text is not a JSON object. An empty text means no arguments.
    """
    if isinstance(written, dict):
        return written, json.dumps(written, ensure_ascii=False)
    raw = written if isinstance(written, str) else "" if written is None else json.dumps(written, ensure_ascii=False)
    if not raw.strip():
        return {}, raw
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None, raw
    return (_without_lone_surrogates(value) if isinstance(value, dict) else None), raw


def kind_of_status(status: int) -> ProviderErrorKind:
    """Return the kind of error for an HTTP status. A success is `rejected`, because its body contains an error."""
    if status in {401, 403}:
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
    retry_after: float | None = None,
    raw: Json | None = None,
) -> ProviderError:
    """Return the error for an unsuccessful answer. `kind` overrides the meaning of `status`; `words` is the service's
    message.

    A 401 is always `auth`, unless `kind` is `quota`. For `auth`, `words` and `raw` are dropped: services quote the key
    in them.
    """
    kind = kind or kind_of_status(status)
    if status == 401 and kind != "quota":  # noqa: PLR2004 - Unauthorized
        kind = "auth"
    message = " ".join(words.split())
    if len(message) > _LONGEST_QUOTE:
        message = message[:_LONGEST_QUOTE] + "…"
    if kind == "auth":
        message, raw = "", None
    quoted = f': "{message}"' if message else ""
    return ProviderError(f"{_MEANING[kind]} (HTTP {status}){quoted}", kind=kind, retry_after=retry_after, raw=raw)


def _without_lone_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_lone_surrogates(name): _without_lone_surrogates(item) for name, item in value.items()}
    return value


def _description(body: bytes) -> str:
    start = body[:1000].lstrip().lower()
    if not start:
        return "empty"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")):
        return "a web page"
    if start.startswith((b"{", b"[")):
        return "invalid or truncated"
    if start.startswith((b"data:", b"event:")):
        return "a stream of events"
    return "something else"


def _json_type(value: object) -> str:
    names = {str: "string", bool: "boolean", list: "list", dict: "object", type(None): "null"}
    return names.get(type(value), "number")
