"""Record a conversation in the run folder, message by message, so that a killed run can be
continued.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    Message,
    NotReady,
    Run,
    ToolCall,
    ToolResult,
    parts_from_json,
    parts_to_json,
)
from code_commit_workspace import open_regular

VERSION = 1
_INTERRUPTED = "The run was interrupted before this call was answered. It may have run or not: check before you call it again."


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded conversation.

    `end` is a value of `End`, or empty if the conversation was interrupted.
    """

    label: str
    model: str
    system: str
    messages: tuple[Message, ...]
    end: str


class Transcript:
    """The file `<label>-transcript.jsonl` of a running conversation."""

    def __init__(
        self, run: Run, *, label: str, model: str, system: str, tools: Sequence[str]
    ) -> None:
        self._run = run
        head = {
            "version": VERSION,
            "label": label,
            "model": model,
            "system": system,
            "tools": list(tools),
        }
        self.file = run.keep(f"{label}-transcript.jsonl", _line(head))

    def add(self, *messages: Message) -> None:
        """Add messages."""
        for message in messages:
            self._append({"role": message.role, "parts": parts_to_json(message.parts)})

    def end(self, end: str, text: str) -> None:
        """Record how the conversation ended."""
        self._append({"end": end, "text": text})

    def _append(self, value: Any) -> None:
        self._run.append(self.file, _line(value))


def read_transcript(file: Path) -> Recorded:
    """Read a conversation; skip an incomplete last line.

    Raises:
        NotReady: the file is missing or not a transcript.
    """
    try:
        with open_regular(file) as recording:  # a run folder is untrusted
            lines = recording.read().split(b"\n")[:-1]
        head, *rows = map(json.loads, lines)
        messages = tuple(
            Message(row["role"], parts_from_json(row["parts"])) for row in rows if "role" in row
        )
        ends = [row["end"] for row in rows if "end" in row]
        recorded = Recorded(
            head["label"], head["model"], head["system"], messages, ends[-1] if ends else ""
        )
        version = head["version"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotReady(
            f"cannot read the transcript {file}: {error}", hint="start a new conversation"
        ) from error
    if version != VERSION:
        raise NotReady(
            f"{file} is a transcript of version {version}, not {VERSION}",
            hint="start a new conversation",
        )
    return recorded


def answered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return `messages` with an answer to every call, which services require.

    Missing answers become a note.
    """
    done: list[Message] = []
    for index, message in enumerate(messages):
        done.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        following = messages[index + 1].parts if index + 1 < len(messages) else ()
        known = {part.call_id for part in following if isinstance(part, ToolResult)}
        unanswered = [call for call in calls if call.id not in known]
        if unanswered:
            results = (
                ToolResult(call.id, call.name, _INTERRUPTED, is_error=True) for call in unanswered
            )
            done.append(Message("user", tuple(results)))
    return tuple(done)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
