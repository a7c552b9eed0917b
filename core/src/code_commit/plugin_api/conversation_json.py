"""The parts of a message as JSON, for the run folder, and back: a recorded conversation can be gone on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from code_commit.plugin_api.conversation import Opaque, Part, Text, ToolCall, ToolResult


def parts_to_json(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return `parts` as JSON that `parts_from_json` understands. Hints for a cache are left out."""
    rows: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case Text():
                rows.append({"type": "text", "text": part.text})
            case ToolCall():
                call = {"id": part.id, "name": part.name, "arguments": part.arguments, "raw": part.raw}
                echo = part.echo and {"provider": part.echo.provider, "data": part.echo.data}
                rows.append({"type": "tool_call", **call, "echo": echo})
            case Opaque():
                rows.append({"type": "opaque", "provider": part.provider, "data": part.data})
            case ToolResult():
                result = {"call_id": part.call_id, "name": part.name, "text": part.text, "is_error": part.is_error}
                rows.append({"type": "tool_result", **result})
    return rows


def parts_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """Return the parts that `parts_to_json` wrote.

    Raises:
        KeyError, TypeError: they are not of that form.
    """
    parts: list[Part] = []
    for row in rows:
        match row["type"]:
            case "text":
                parts.append(Text(row["text"]))
            case "tool_call":
                echo = row["echo"] and Opaque(row["echo"]["provider"], row["echo"]["data"])
                parts.append(ToolCall(row["id"], row["name"], row["arguments"], row["raw"], echo))
            case "opaque":
                parts.append(Opaque(row["provider"], row["data"]))
            case "tool_result":
                parts.append(ToolResult(row["call_id"], row["name"], row["text"], row["is_error"]))
            case unknown:
                raise TypeError(f"a message has no part of type {unknown!r}")
    return tuple(parts)
