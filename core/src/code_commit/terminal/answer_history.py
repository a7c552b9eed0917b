"""The earlier answers of a person in a project."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace import replace_file

_MOST = 1_000  # answers
_MOST_CHARACTERS = 1_000_000  # of all answers
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class AnswerHistory:
    """Keeps answers in a file of `folder`, without keys.

    `redact` takes the keys out of a text. Answers in `commands` are not kept. Several sessions may
    add answers at once. Errors are ignored: no run depends on the history.
    """

    folder: Path
    redact: Callable[[str], str]
    commands: Collection[str] = ()

    def load(self) -> list[str]:
        """Return the answers, the latest last."""
        try:
            return [str(answer) for answer in json.loads(self._file.read_bytes())]
        except (OSError, ValueError, TypeError, RecursionError):
            return []

    def add(self, answer: str) -> None:
        """Add an answer, unless it is empty, a command, or the same as the last one."""
        answer = self.redact(answer)
        if not answer.strip() or answer.strip().casefold() in self.commands:
            return
        with suppress(OSError), self._locked():
            answers = self.load()
            if answers[-1:] != [answer]:
                answers = _latest([*answers, answer])
                replace_file(self._file, json.dumps(answers).encode())

    @property
    def _file(self) -> Path:
        return self.folder / "answers.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait for other sessions."""
        handle = os.open(self.folder, _FOLDER)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _latest(answers: list[str]) -> list[str]:
    """Return the latest answers that are worth their room."""
    room = _MOST_CHARACTERS
    latest: list[str] = []
    for answer in reversed(answers[-_MOST:]):
        room -= len(answer)
        if room < 0:
            break
        latest.insert(0, answer)
    return latest
