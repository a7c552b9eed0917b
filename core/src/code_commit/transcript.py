"""Conversations as text, for the run folder; and as JSON, so that a recorded reply can be given again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from code_commit.records.conversation import Message, Opaque, Part, Request, Text, ToolCall, ToolResult


def request_text(request: Request) -> str:
    """Return what was asked as text: a single prompt as it is, a conversation turn by turn."""
    match request:
        case Request(messages=(Message(role="user", parts=(Text(text=prompt),)),), system="", tools=()):
            return prompt
    pieces = [f"=== system ===\n{request.system}"] if request.system else []
    if request.tools:
        names = "\n".join(tool.name for tool in request.tools)
        pieces.append(f"=== tools ({request.tool_choice}) ===\n{names}")
    pieces += [f"=== {message.role} ===\n" + "\n".join(map(_part_text, message.parts)) for message in request.messages]
    return "\n\n".join(pieces) + "\n"


def _part_text(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case ToolCall():
            arguments = part.raw or json.dumps(part.arguments, ensure_ascii=False)
            return f"--- call {part.id} {part.name} ---\n{arguments}"
        case ToolResult():
            return f"--- {'error' if part.is_error else 'result'} {part.call_id} {part.name} ---\n{part.text}"
        case Opaque():
            return f"--- {part.provider}, unread ---"


def parts_to_json(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return `parts` as JSON that `parts_from_json` understands."""
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
                rows.append({"type": "tool_result", "call_id": part.call_id, "name": part.name, "text": part.text})
    return rows


def parts_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """Return the parts of a reply that `parts_to_json` wrote.

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
            case unknown:
                raise TypeError(f"a reply has no part of type {unknown!r}")
    return tuple(parts)
