"""A turn of the model as the reply of a service: in each tool's own form of an edit."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from faults import Build, Change, Delivery, Edit, Refuse, Turn

from code_commit.plugin_api import Finish, StreamEvent, ToolCall
from code_commit_testing import Reply, Stream

BUILD_COMMAND = "bash build.sh"
_CUT = 20  # characters that a reply loses by the limit of length: they end its last edit


def error(turn: Refuse) -> Reply:
    """Return an error as OpenAI and Gemini tell it; both look at the status."""
    document = {"error": {"message": turn.message, "code": turn.status, "type": "error"}}
    headers = {"content-type": "application/json"}
    if turn.status == 429:
        headers["retry-after"] = "1"
    return Reply(
        status=turn.status, body=json.dumps(document).encode(), headers=headers, stream=None
    )


def whole_files(turn: Turn) -> Reply:
    """Return the reply that code-commit asks for: whole files in fences."""
    if not isinstance(turn, Change):
        return Reply("I have finished.")
    blocks = [f"^^^{edit.path}\n{edit.after}\n^^^end\n" for edit in turn.edits]
    if any(edit.before == "a line that is not there" for edit in turn.edits):
        # A whole file always fits. What does not is a block without its end.
        blocks[-1] = blocks[-1].removesuffix("^^^end\n")
    return _text(f"{turn.remark}\n\n{''.join(blocks)}", turn.delivery)


def search_and_replace(turn: Turn) -> Reply:
    """Return the reply that aider asks for."""
    if not isinstance(turn, Change):
        return Reply("I have finished.")
    blocks = [
        f"{edit.path}\n```\n<<<<<<< SEARCH\n{_line(edit.before)}=======\n{_line(edit.after)}"
        ">>>>>>> REPLACE\n```\n"
        for edit in turn.edits
    ]
    return _text(f"{turn.remark}\n\n{''.join(blocks)}", turn.delivery)


def shell_commands(turn: Turn) -> Reply:
    """Return commands for a shell, which is all that mini-swe-agent has."""
    if isinstance(turn, Change):
        commands = [_edit_by_shell(edit) for edit in turn.edits]
        return _calls([("bash", {"command": command}) for command in commands], turn)
    if isinstance(turn, Build):
        return _calls([("bash", {"command": BUILD_COMMAND})])
    return _calls([("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})])


def patch_tool(turn: Turn) -> Reply:
    """Return a patch for opencode's tool."""
    if isinstance(turn, Change):
        return _calls([("apply_patch", {"patchText": _patch(turn.edits)})], turn)
    if isinstance(turn, Build):
        return _calls([("bash", {"command": BUILD_COMMAND})])
    return Reply("I have finished.")


def replace_tool(turn: Turn) -> Reply:
    """Return the calls of gemini-cli's tools. A call of Gemini's protocol is never cut."""
    if isinstance(turn, Build):
        return _calls([("run_shell_command", {"command": BUILD_COMMAND})])
    if not isinstance(turn, Change):
        return Reply("I have finished.")
    reply = _calls([_edit_of_gemini(edit, turn.remark) for edit in turn.edits], turn)
    if turn.delivery == "cut":
        return replace(reply, tool_calls=reply.tool_calls[:-1])
    return reply


def response_items(turn: Turn) -> Reply:
    """Return the events of OpenAI's protocol of responses, which codex speaks."""
    if isinstance(turn, Change):
        item = {
            "type": "custom_tool_call",
            "name": "apply_patch",
            "input": _patch(turn.edits),
        }
        remark, delivery = turn.remark, turn.delivery
    elif isinstance(turn, Build):
        arguments = json.dumps({"cmd": BUILD_COMMAND, "yield_time_ms": 30_000})
        item = {"type": "function_call", "name": "exec_command", "arguments": arguments}
        remark, delivery = "", "whole"
    else:
        item = {}
        remark, delivery = "I have finished.", "whole"
    items = [_message(remark)] if remark else []
    if item and delivery != "cut":
        items.append({**item, "id": "item_1", "call_id": "call_1"})
    return _faulty(Reply(remark, stream=Stream(events=_response_events(items, delivery))), delivery)


def _message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"type": "message", "role": "assistant", "id": "message_1", "content": content}


def _response_events(items: Sequence[dict[str, Any]], delivery: Delivery) -> list[StreamEvent]:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": None,
        "output_tokens": 5,
        "output_tokens_details": None,
        "total_tokens": 15,
    }
    response: dict[str, Any] = {"id": "response_1", "usage": usage}
    last = "response.completed"
    if delivery == "cut":
        last = "response.incomplete"
        response["incomplete_details"] = {"reason": "max_output_tokens"}
    return [
        _event("response.created", response={"id": "response_1"}),
        *(_event("response.output_item.done", item=item) for item in items),
        _event(last, response=response),
    ]


def _event(kind: str, **members: Any) -> StreamEvent:
    return StreamEvent(kind, json.dumps({"type": kind, **members}).encode())


def _text(text: str, delivery: Delivery) -> Reply:
    if delivery == "cut":
        return Reply(text[:-_CUT], finish=Finish.LENGTH)
    return _faulty(Reply(text), delivery)


def _calls(calls: Sequence[tuple[str, dict[str, Any]]], change: Change | None = None) -> Reply:
    """Return a reply that calls tools; with `change`, with its remark and delivery."""
    tool_calls = [
        ToolCall(f"call_{number}", name, arguments)
        for number, (name, arguments) in enumerate(calls)
    ]
    if change is None:
        return Reply(tool_calls=tuple(tool_calls))
    if change.delivery == "cut":
        raw = json.dumps(tool_calls[-1].arguments)[:-_CUT]
        tool_calls[-1] = replace(tool_calls[-1], arguments=None, raw=raw)
        return Reply(change.remark, tuple(tool_calls), finish=Finish.LENGTH)
    return _faulty(Reply(change.remark, tuple(tool_calls)), change.delivery)


def _faulty(reply: Reply, delivery: Delivery) -> Reply:
    if delivery == "broken off":
        return replace(reply, fault="half")
    if delivery == "stalled":
        return replace(reply, fault="stall")
    return reply


def _line(text: str) -> str:
    return f"{text}\n" if text else ""


def _edit_by_shell(edit: Edit) -> str:
    write = f"echo {shlex.quote(edit.after)} > {edit.path}"
    return f"grep -qx {shlex.quote(edit.before)} {edit.path} && {write}" if edit.before else write


def _edit_of_gemini(edit: Edit, instruction: str) -> tuple[str, dict[str, Any]]:
    if not edit.before:
        return "write_file", {"file_path": edit.path, "content": f"{edit.after}\n"}
    return "replace", {
        "file_path": edit.path,
        "instruction": instruction,
        "old_string": edit.before,
        "new_string": edit.after,
    }


def _patch(edits: Sequence[Edit]) -> str:
    return "\n".join(
        ["*** Begin Patch", *(_hunk(edit) for edit in edits), "*** End Patch"],
    )


def _hunk(edit: Edit) -> str:
    if not edit.before:
        return f"*** Add File: {edit.path}\n+{edit.after}"
    return f"*** Update File: {edit.path}\n@@\n-{edit.before}\n+{edit.after}"
