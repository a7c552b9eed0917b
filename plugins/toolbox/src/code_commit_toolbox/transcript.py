"""Record a conversation message by message, so that a killed run can be continued."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
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
_INTERRUPTED = (
    "The run was interrupted before this call was answered. It may have run or not: "
    "check before you call it again."
)


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
    """The file `<label>-transcript.jsonl` of a running conversation.

    `continues` is a transcript of this run to which this one is added, after its first `length`
    messages.
    """

    def __init__(
        self,
        run: Run,
        *,
        label: str,
        model: str,
        system: str,
        tools: Sequence[str],
        continues: Path | None = None,
        length: int = 0,
    ) -> None:
        self._run = run
        if continues:
            self.file = continues
            self._append({"end": "", "messages": length})
            return
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
        version = head["version"]
        recorded = _recorded(head, rows)
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


def _recorded(head: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Recorded:
    messages: list[Message] = []
    end = ""
    for row in rows:
        if "role" in row:
            messages.append(Message(row["role"], parts_from_json(row["parts"])))
        del messages[row.get("messages", len(messages)) :]
        end = row.get("end", end)
    return Recorded(
        label=head["label"],
        model=head["model"],
        system=head["system"],
        messages=tuple(messages),
        end=end,
    )


def answered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return `messages` with an answer to every call, which services require.

    Missing answers become a note.
    """
    whole: list[Message] = []
    for message, following in zip_longest(messages, messages[1:]):
        whole.append(message)
        answers = following.parts if following else ()
        ids = {part.call_id for part in answers if isinstance(part, ToolResult)}
        notes = [
            ToolResult(call.id, call.name, _INTERRUPTED, is_error=True)
            for call in message.parts
            if isinstance(call, ToolCall) and call.id not in ids
        ]
        if notes:
            whole.append(Message("user", tuple(notes)))
    return tuple(whole)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
