"""The parts of a message as JSON, in a file of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from code_commit.plugin_api.conversation import Opaque, Part, Text, ToolCall, ToolResult

_PARTS: dict[str, type[Part]] = {
    "text": Text,
    "tool_call": ToolCall,
    "opaque": Opaque,
    "tool_result": ToolResult,
}


def parts_to_json(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return `parts` as JSON for `parts_from_json`, without cache hints."""
    types = {cls: name for name, cls in _PARTS.items()}
    return [{"type": types[type(part)], **_row(part)} for part in parts]


def _row(part: Part) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for field in fields(part):
        if field.name == "cache_here":
            continue
        value = getattr(part, field.name)
        if isinstance(value, Opaque):
            value = _row(value)
        row[field.name] = value
    return row


def parts_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """Return the parts that `parts_to_json` wrote.

    Raises:
        KeyError, TypeError: a row does not have that form.
    """
    parts: list[Part] = []
    for row in rows:
        values = {name: value for name, value in row.items() if name != "type"}
        if row["type"] not in _PARTS:
            raise TypeError(f"a message has no part of type {row['type']!r}")
        if values.get("echo"):
            values["echo"] = Opaque(**values["echo"])
        parts.append(_PARTS[row["type"]](**values))
    return tuple(parts)
