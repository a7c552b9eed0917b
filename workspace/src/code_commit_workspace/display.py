"""Show the values of settings without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_SECRET_WORDS = frozenset({"key", "keys", "apikey", "token", "secret", "password", "authorization", "headers"})
_SHORTEST = 8  # characters of a key


def redacted_value(value: object) -> str:
    """Return `***`, followed by the last two characters of a text as long as a key."""
    text = value.strip() if isinstance(value, str) else ""
    return f"***{text[-2:]}" if len(text) >= _SHORTEST else "***"


def display_value(name: Sequence[str], value: Any) -> Any:
    """Return the value of the setting `name` for display. Redact secrets by the words of their names, and in URLs."""
    words = set(re.split(r"[^a-z0-9]+", ".".join(name).lower()))
    if words & _SECRET_WORDS and not words & {"file", "path"}:
        is_redacted = isinstance(value, str) and value.startswith("***") and len(value) <= len("***") + 2
        return value if is_redacted or isinstance(value, bool) else redacted_value(value)
    if isinstance(value, str):
        return re.sub(r"(//[^?#\s]*[?#])\S+", r"\1***", re.sub(r"(?<=//)[^/\s]*@", "***@", value))
    if isinstance(value, Mapping):
        return {part: display_value((*name, part), one) for part, one in value.items()}
    if isinstance(value, list):
        return [display_value(name, one) for one in value]
    return value
