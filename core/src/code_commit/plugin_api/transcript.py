"""Conversations as text, for the run folder."""

from __future__ import annotations

import json

from code_commit.plugin_api.conversation import Message, Opaque, Part, Request, Text, ToolCall, ToolResult


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
