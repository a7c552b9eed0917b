"""Answers from a recorded run, in the order of its calls (`--model replay/RUN`)."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path

from code_commit.records.conversation import Completion, Finish, Message, Part, Request, Text, Usage
from code_commit.records.errors import NotReady, ProviderFailed
from code_commit.records.event import Record
from code_commit.run_log import read_records
from code_commit.transcript import parts_from_json, request_text


@dataclass(frozen=True, slots=True)
class Answer:
    """A recorded reply: the prompt that it answered, and either a completion or the error there was."""

    number: int
    prompt: str
    completion: Completion | None
    error: str


class Recording:
    """The calls of a recorded run."""

    def __init__(self, name: str, token: str, answers: tuple[Answer, ...]) -> None:
        self.name = name
        self.token = token
        self._answers = answers
        self._given = 0
        self._lock = threading.Lock()

    def answer(self, request: Request) -> tuple[Completion, bool]:
        """Return the next recorded reply, and whether `request` is what was asked then.

        Raises:
            ProviderFailed: the recording is at its end, or this call failed then.
        """
        with self._lock:
            if self._given == len(self._answers):
                raise ProviderFailed(
                    f"the recorded run {self.name} has {len(self._answers)} calls, and this is one more",
                    hint="the run goes another way than the recorded one: ask a real model",
                )
            answer = self._answers[self._given]
            self._given += 1
        if answer.completion is None:
            raise ProviderFailed(f"call {answer.number} of the recorded run {self.name} failed: {answer.error}")
        return answer.completion, request_text(request) == answer.prompt


def load_recording(folder: Path) -> Recording:
    """Read the calls of a run back.

    Raises:
        NotReady: a file of it is missing or broken.
    """
    token, started, answers = "", {}, []
    try:
        for record in read_records(folder / "events.jsonl"):
            if record.kind == "run.started":
                token = record.data.get("token", "")
            elif record.kind == "call.started":
                started[record.data["number"]] = record.data["request"]
            elif record.kind == "call.finished":
                answers.append(_answer(folder, started[record.data["number"]], record))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise NotReady(f"the recorded run {folder} cannot be read: {error}") from error
    return Recording(folder.name, token, tuple(sorted(answers, key=lambda answer: answer.number)))


def _answer(folder: Path, request: str, record: Record) -> Answer:
    data = record.data
    prompt = (folder / request).read_bytes().decode()
    if data["error"]:
        return Answer(data["number"], prompt, None, data["error"])
    parts: tuple[Part, ...]
    if data.get("parts"):
        parts = parts_from_json(json.loads((folder / data["parts"]).read_text("utf-8")))
    else:
        parts = (Text((folder / data["response"]).read_bytes().decode()),)
    usage = Usage(
        data["input_tokens"],
        data["output_tokens"],
        data["cache_read_tokens"],
        data["cache_write_tokens"],
        data["reasoning_tokens"],
    )
    finish, model = Finish(data["finish"]), data["model"]
    return Answer(
        data["number"],
        prompt,
        Completion(Message("assistant", parts), finish, data["finish_detail"], usage, model, raw={"replayed": True}),
        "",
    )
