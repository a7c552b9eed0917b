"""Changes to a project, and the rules that judge them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Change:
    """The whole new content of one file, or its removal. `content` None deletes."""

    path: str
    content: bytes | None = field(repr=False)


class Tree(Protocol):
    """The project's files, read through directory handles; a link is never followed."""

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the content of the regular file at `path`, or None when there is none.

        With `limit`, no more than its first `limit` bytes.

        Raises:
            OSError: it is there but cannot be read, or a part of the path is a link.
        """
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a path is not allowed. `then` says whether the run stops or the model is asked to try again."""

    path: str
    rule: str
    reason: str
    then: Literal["stop", "repair"] = "stop"


class PathRule(Protocol):
    """Judges one change. It may refuse, or send back for repair; it can never allow what another rule refuses."""

    name: str

    def judge(self, change: Change, tree: Tree) -> Refusal | None:
        """Return why `change` is refused, or None. An exception refuses it too."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `exit_code` is None after a signal or the time limit.

    `stdout` and `stderr` are capped, head and tail; the whole is in `log`. `tampered` names the files that judge a
    change and that the process altered: whatever its exit code, such a process has failed.
    """

    exit_code: int | None
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    log: Path
    timed_out: bool
    tampered: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Exit code 0 (seed 002: whatever is on stderr) and the judge untouched."""
        return self.exit_code == 0 and not self.tampered
