"""Functions to read a service's HTTP reply, for `decode` of a `Wire`.

`reply_object` parses the body and `event_object` an event of a stream; `reply_member`,
`reply_objects` and `token_count` read their fields; `read_arguments` interprets those of a tool
call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from code_commit.plugin_api.conversation import Json, Part, ProviderError, ToolCall
from code_commit.plugin_api.service_errors import FIRST_ERROR, reply_error

if TYPE_CHECKING:
    from code_commit.plugin_api.provider import StreamEvent

T = TypeVar("T")
_NO_HEADERS: Mapping[str, str] = {}
_TOO_MANY_TOKENS = 10**12  # for any call


def reply_object(
    body: bytes,
    status: int = 200,
    headers: Mapping[str, str] = _NO_HEADERS,
) -> dict[str, Any]:
    """Return the JSON object in `body`.

    If it is a list of one object, like Google's errors, return that object.

    Raises:
        ProviderError: there is no object. The message describes the body; the kind is
            invalid_response, or that of an unsuccessful `status`.
    """
    try:
        value = _parsed(body)
    except (ValueError, RecursionError):
        fault = f"the reply is {_description(body, headers)}, not JSON"
    else:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, dict):
            return value
        fault = f"the reply is a JSON {_json_type(value)}, not an object"
    if status >= FIRST_ERROR:
        raise reply_error(status, words=fault)
    raise ProviderError(fault, kind="invalid_response")


def event_object(event: StreamEvent) -> dict[str, Any]:
    """Return the JSON object of an event of a stream.

    If the event is named `error`, the object has a member `error`.

    Raises:
        ProviderError: there is no object. The kind is `network` if the object is cut off, as by a
            broken connection, and invalid_response otherwise.
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
    if is_error and not value.get("error"):
        return {"error": value}
    return value


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
    # A list: each event of a stream is checked, and `any` is slower.
    if [value for value in values if not isinstance(value, dict)]:
        raise ProviderError(
            f"in the reply, {name!r} contains an item that is not an object",
            kind="invalid_response",
        )
    return values


def token_count(usage: Json, name: str) -> int | None:
    """Return a number of tokens, or None if it is missing or invalid."""
    value = usage.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _TOO_MANY_TOKENS:
        return value
    return None


def read_arguments(written: object) -> tuple[dict[str, Any] | None, str]:
    """Return the arguments of a tool call as (object, raw text).

    `written` is the JSON text or the object that the model wrote. The returned object is None if
    the text is not a JSON object of valid Unicode. An empty text means no arguments.
    """
    if isinstance(written, str):
        raw = written
    elif written is None:
        raw = ""
    else:
        raw = json.dumps(written, ensure_ascii=False)
    if not raw.isascii():
        # A lone surrogate as JSON escapes it.
        raw = raw.encode("utf-8", "backslashreplace").decode()
    try:
        value = json.loads(raw) if raw.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None, raw
    if not isinstance(value, dict):
        return None, raw
    return value, raw


def with_ids(parts: Sequence[Part], reply: str) -> tuple[Part, ...]:
    """Return `parts` with an id for each tool call that has none.

    The ids are the same for the same calls in the same `reply`, whether it was streamed or not:
    pass what the service always sends, such as its id of the reply and the usage.
    """
    calls = [(part.name, part.raw) for part in parts if isinstance(part, ToolCall)]
    digest = sha256(f"{reply} {calls}".encode("utf-8", "backslashreplace")).hexdigest()
    with_ids: list[Part] = []
    for number, part in enumerate(parts):
        if isinstance(part, ToolCall) and not part.id:
            with_ids.append(replace(part, id=f"call_{digest[:16]}_{number}"))
        else:
            with_ids.append(part)
    return tuple(with_ids)


def limit_parts(parts: Sized, most: int = 10_000) -> None:
    """Limit the `parts` that a `StreamDecoder` keeps of a reply.

    Otherwise small events could fill the memory.

    Raises:
        ProviderError: invalid_response, if there are `most` parts.
    """
    if len(parts) >= most:
        raise ProviderError("the reply has too many parts", kind="invalid_response")


def _description(body: bytes, headers: Mapping[str, str]) -> str:
    start = body[:1000].lstrip().lower()
    if not start:
        return "empty"
    is_labeled_stream = "text/event-stream" in headers.get("content-type", "").lower()
    if is_labeled_stream or start.startswith((b"data:", b"event:")):
        return "a stream of events"
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml")):
        return "a web page"
    if start.startswith((b"{", b"[")):
        return "invalid or truncated"
    return "something else"


def _json_type(value: object) -> str:
    names = {str: "string", bool: "boolean", list: "list", dict: "object", type(None): "null"}
    return names.get(type(value), "number")
