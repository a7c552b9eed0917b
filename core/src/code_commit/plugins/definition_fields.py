"""Check the fields of definitions, which plugins may get wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from code_commit.plugin_api.definitions import CommandDefinition, Flag, ProviderDefinition

_WORD = re.compile("[a-z0-9][a-z0-9_-]*")
_FLAG = re.compile(r"-[A-Za-z0-9]|--[A-Za-z0-9][A-Za-z0-9-]*")


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list | frozenset | set) and all(map(_is_text, value))


def _are_flags(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_flag, value))


def _is_flag(value: Any) -> bool:
    if not isinstance(value, Flag) or fault_of(Flag, value):
        return False
    return bool(value.names) and all(map(_FLAG.fullmatch, value.names))


def _are_models(value: Any) -> bool:
    if not isinstance(value, Mapping) or not all(map(_is_text, value)):
        return False
    return all(map(_are_texts, value.values()))


def _is_header(value: Any) -> bool:
    try:
        name, template = value
        return _are_texts(value) and (not name or bool(template.format(key="k")))
    except (ValueError, LookupError, AttributeError, TypeError):
        return False


# By the annotation of a field: what checks its value, and what the value must be.
_TYPES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is_text, "a text"),
    "tuple[str, ...]": (_are_texts, "a tuple of texts"),
    "tuple[str, str]": (_is_header, "the header's name and a template with {key}"),
    "tuple[Flag, ...]": (
        _are_flags,
        "a tuple of `Flag`s, each with names like --flag, a help text, a metavar or None",
    ),
    "Mapping[str, Sequence[str]]": (_are_models, "a mapping of model ids to sequences of aliases"),
    "Mapping[str, int]": (_is_mapping, "a mapping of model ids to numbers of tokens"),
    "bool": (_is_bool, "True or False"),
}


def fault_of(record: type[Any], definition: Any) -> str:
    """Return which field of a `record` has the wrong type, or an empty text."""
    for field in fields(record):
        needed, optional, _ = str(field.type).partition(" | None")
        is_valid, kind = _TYPES[needed]
        value = getattr(definition, field.name)
        if is_valid(value) or (optional and value is None):
            continue
        wrong = value
        if isinstance(value, tuple):
            wrong = tuple(part for part in value if not is_valid([part])) or value
        if optional:
            kind += ", or None"
        return f"`{field.name}` must be {kind}, not {wrong!r:.100}"
    if record is Flag:
        return ""
    if record is ProviderDefinition:
        for name in ("config", "factory"):
            if not getattr(definition, name):
                return f"`{name}` is missing"
    return _fault_of_name(record, definition.name)


def _fault_of_name(record: type[Any], name: str) -> str:
    words = [name]
    form = "lower-case letters, digits, - and _"
    if record is CommandDefinition:
        words = name.split(" ", 1)
        form = f"one word or two, of {form}"
    if all(map(_WORD.fullmatch, words)):
        return ""
    return f"`name` must be {form}, not {name!r:.100}"
