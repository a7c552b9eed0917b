"""Check the fields of definitions, which plugins may get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from code_commit.plugin_api.definitions import (
    CommandDefinition,
    Flag,
)

_WORD = re.compile("[a-z0-9][a-z0-9_-]*")
_FLAG = re.compile(r"-[A-Za-z0-9]|--[A-Za-z0-9][A-Za-z0-9-]*")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list | frozenset | set) and all(map(_is_text, value))


def _are_flags(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(
        isinstance(each, Flag)
        and not fault_of(Flag, each)
        and each.names
        and all(map(_FLAG.fullmatch, each.names))
        for each in value
    )


def _are_models(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and all(map(_is_text, value))
        and all(map(_are_texts, value.values()))
    )


def _is_header(value: Any) -> bool:
    try:
        return _are_texts(value) and len(value) == 2 and bool(value[1].format(key="k"))  # noqa: PLR2004 - name and template
    except (ValueError, LookupError, AttributeError):
        return False


# What the annotations of definitions stand for.
_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is_text, "a text"),
    "tuple[str, ...]": (_are_texts, "a tuple of texts"),
    "tuple[str, str]": (_is_header, "the header's name and a template with {key}"),
    "tuple[Flag, ...]": (
        _are_flags,
        "a tuple of `Flag`s, each with names like --flag, a help text, a metavar or None",
    ),
    "Mapping[str, Sequence[str]]": (_are_models, "a mapping of model ids to sequences of aliases"),
    "Mapping[str, int]": (
        lambda value: isinstance(value, Mapping),
        "a mapping of model ids to numbers of tokens",
    ),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
}


def fault_of(record: type[Any], definition: Any) -> str:
    """Return which field of a `record` has the wrong type, or an empty text."""
    for field in fields(record):
        needed, optional, _ = str(field.type).partition(" | None")
        is_valid, kind = _TYPES[needed]
        value = getattr(definition, field.name)
        if not (is_valid(value) or (optional and value is None)):
            wrong = (
                tuple(each for each in value if not is_valid([each]))
                if isinstance(value, tuple)
                else ()
            )
            return (
                f"`{field.name}` must be {kind}{', or None' * bool(optional)}, "
                f"not {wrong or value!r:.100}"
            )
    if record is not Flag:
        count, most = ("one word or two, of ", 2) if record is CommandDefinition else ("", 1)
        if not all(map(_WORD.fullmatch, definition.name.split(" ", most - 1))):
            return (
                f"`name` must be {count}lower-case letters, digits, - and _, "
                f"not {definition.name!r:.100}"
            )
    return ""
