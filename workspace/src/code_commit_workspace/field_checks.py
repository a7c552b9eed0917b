"""Check the fields of a record that somebody else made. Programs import this at every start: nothing slow here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

Check = Callable[[Any], bool]
FieldChecks = Iterable[tuple[str, Check, str]]
"""Names of fields, separated by spaces; what holds for their values; and how to say that."""


def fault_of_fields(record: object, checks: FieldChecks) -> str:
    """Return why a field of `record` is wrong, or an empty text."""
    for fields, is_valid, kind in checks:
        for field in fields.split():
            if not is_valid(found := getattr(record, field)):
                return f"`{field}` must be {kind}, not {found!r:.100}"
    return ""


def is_text(value: object) -> bool:
    """Return whether `value` is a text."""
    return isinstance(value, str)


def are_texts(value: object) -> bool:
    """Return whether `value` is a collection of texts."""
    return isinstance(value, tuple | list | frozenset | set) and all(map(is_text, value))


def or_none(is_valid: Check) -> Check:
    """Return a check that also takes None."""
    return lambda value: value is None or is_valid(value)


def matching(pattern: re.Pattern[str]) -> Check:
    """Return a check of texts that match `pattern` as a whole."""
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def is_template(value: object, **filled: str) -> bool:
    """Return whether `value` is a text that `str.format` can fill."""
    try:
        return isinstance(value, str) and bool(value.format(**filled))
    except (ValueError, LookupError, AttributeError):
        return False
