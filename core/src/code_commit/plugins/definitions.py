"""Check that the fields of a definition have their annotated types, and name a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from code_commit.plugin_api.command import CommandDefinition
from code_commit.plugin_api.provider import ProviderDefinition
from code_commit.plugin_api.workflow import Flag, WorkflowDefinition

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_FLAG = re.compile(r"-[A-Za-z0-9]|--[A-Za-z0-9][A-Za-z0-9-]*")


def fault_of(definition: Any) -> str:
    """Return an error text about the fields of a definition, or an empty text."""
    for fields, is_valid, kind in next(rows for record, rows in _ROWS.items() if isinstance(definition, record)):
        for field in fields.split():
            value = getattr(definition, field)
            if not is_valid(value):
                return f"`{field}` must be {kind}, not {value!r:.100}"
    return ""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple | list | frozenset | set) and all(map(_is_text, value))


def _or_none(is_valid: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_valid(value)


def _are_models(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(_are_texts, value.values()))


def _is_header(value: Any) -> bool:
    if not _are_texts(value) or len(value) != 2:  # noqa: PLR2004 - name and template
        return False
    try:
        value[1].format(key="k")
    except (ValueError, LookupError, AttributeError):
        return False
    return True


def _are_flags(value: Any) -> bool:
    return isinstance(value, tuple | list) and all(map(_is_flag, value))


def _is_flag(value: Any) -> bool:
    return (
        isinstance(value, Flag)
        and _are_texts(value.names)
        and bool(value.names)
        and all(map(_FLAG.fullmatch, value.names))
        and _is_text(value.help)
        and _or_none(_is_text)(value.metavar)
    )


_Rows = tuple[tuple[str, Callable[[Any], bool], str], ...]
_ROWS: dict[type[Any], _Rows] = {
    ProviderDefinition: (
        ("name", _is_name, "lower-case letters, digits, - and _"),
        ("base_url base_url_suffix config factory", _is_text, "a text"),
        ("base_url_variable key_variable run_token", _or_none(_is_text), "a text or None"),
        ("models", _are_models, "a mapping of model ids to sequences of aliases"),
        ("key_header", _is_header, "the header's name and a template with {key}"),
    ),
    WorkflowDefinition: (
        ("name", _is_name, "lower-case letters, digits, - and _"),
        ("help run", _is_text, "a text"),
        ("options root", _or_none(_is_text), "a text or None"),
        ("roles", _or_none(_are_texts), "a tuple of texts, or None"),
        ("ignores", _are_texts, "a tuple of texts"),
        ("flags", _are_flags, "a tuple of `Flag`s, each with names like --flag, a help text, and a metavar or None"),
    ),
    CommandDefinition: (
        ("name", _is_name, "lower-case letters, digits, - and _"),
        ("help run", _is_text, "a text"),
        ("arguments", _or_none(_is_text), "a text or None"),
    ),
}
