"""Turns an event into its kind and JSON data, or says why it cannot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import PurePath
from typing import Any

from code_commit.plugin_api import event as host_events
from code_commit.plugin_api.event import Event, RunFinished, RunStarted


def kind_and_data(event: Event) -> tuple[str, dict[str, Any]]:
    """Return the kind and the data of an event that a plugin emits.

    Raises:
        TypeError: a field is not JSON.
        ValueError: the kind is not one that this event may have, or a number is not finite.
    """
    if isinstance(event, RunStarted | RunFinished):
        raise ValueError(f"only the host emits {event.kind}")  # noqa: TRY004 - the type is right, the sender is not
    if type(event).__module__ != host_events.__name__:
        check_kind(event.kind)
    return event.kind, data_of(event)


def data_of(event: Event) -> dict[str, Any]:
    """Return the fields of `event` as JSON.

    Raises:
        TypeError, ValueError: as `to_json`.
    """
    return {field.name: to_json(getattr(event, field.name)) for field in fields(event)}


def check_kind(kind: object) -> None:
    """Check the kind of a plugin's event.

    Raises:
        ValueError: it has no dot, or it is a kind of the host's own events.
    """
    if not isinstance(kind, str) or "." not in kind.strip(".") or not kind.isprintable():
        raise ValueError(f"a kind of event reads <plugin>.<what>, not {kind!r}")
    if kind in _host_kinds():
        raise ValueError(f"{kind} is a kind of the host's own events")


@cache
def _host_kinds() -> frozenset[str]:
    return frozenset(
        cls.kind for cls in vars(host_events).values() if isinstance(cls, type) and issubclass(cls, Event) and cls.kind
    )


def to_json(value: object) -> Any:
    """Return `value` as dict, list, str, int, float, bool or None; a path becomes text.

    Raises:
        TypeError: it is neither JSON nor a path.
        ValueError: a number in it is not finite.
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            return _encodable(value)
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} has no place in JSON")
            return value
        case Mapping():
            return {_name(name): to_json(item) for name, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
        case PurePath():
            return _encodable(str(value))
    raise TypeError(f"{type(value).__name__} is not JSON")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a name in JSON is text, not {type(name).__name__}")
    return _encodable(name)


def _encodable(text: str) -> str:
    """Escape lone surrogates, which UTF-8 cannot encode: Python decodes odd bytes of file names to them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
