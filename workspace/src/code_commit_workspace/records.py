"""The records of the workspace: changes, path rules, refusals, settings and results of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Change:
    """The whole new content of one file, or its removal. `content` None deletes."""

    path: str
    content: bytes | None = field(repr=False)


class Tree(Protocol):
    """The files of the project. A link is never followed."""

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the content of the regular file at `path`, or None if there is none.

        With `limit`, return its first `limit` bytes at most.

        Raises:
            OSError: the file cannot be read, or a part of the path is a link.
        """
        ...

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path with its content, faster than `read` for many sorted paths.

        The content is None if the path is no regular file, cannot be read, or has more than `limit` bytes.
        """
        ...

    def list(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the visible files, sorted: those that git tracks or does not ignore. See `Run.files`.

        Each call asks git, so keep the result if you need it twice.

        Raises:
            NotReady: the root is not in a git repository.
            ValueError: a pattern is malformed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a path is not allowed; the path `""` stands for the whole change set.

    `then` says whether the run stops or the model may try again; "warn" refuses nothing, and is a warning for people.
    `plugin` is the distribution whose rule refused, empty for a built-in rule; the guard sets it. `hint` is advice for
    people, such as the name of a setting.
    """

    path: str
    rule: str
    reason: str
    then: Literal["stop", "repair", "warn"] = "stop"
    plugin: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """The path and the reason, on one line for people and models."""
        return f"{self.path}: {self.reason}" if self.path else self.reason


class PathRule(Protocol):
    """Judges the changes of one response. It can refuse them; it can never allow what another rule refuses."""

    name: str

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterable[Refusal]:
        """Return a refusal for each path that is not allowed, or one with the path `""` to refuse all of `changes`.

        `changes` holds each path once, without a leading `./`. `tree` shows the files as they are before the change.
        An exception, a result of another type, or a path that is not in `changes` refuses everything.
        """
        ...


@dataclass(frozen=True, slots=True)
class Protected:
    """A name that no response may change, neither the file nor anything below a folder of that name.

    The name counts at the root of the project, or `anywhere`. A model may see what is `readable`. `description` is
    how prompts and messages call it, if the name alone is not clear.
    """

    name: str
    description: str = ""
    anywhere: bool = False
    readable: bool = True

    def __str__(self) -> str:
        """The line that the model reads."""
        return self.description or self.name


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How processes run.

    `mode` "auto" uses bubblewrap where it works, "require" refuses to run without it, "off" never uses it. Without
    `network`, processes reach no network, which takes the sandbox. `hidden` are files and folders that a process in
    the sandbox cannot see, `read_only` names below the root that it cannot change. `writable` is what it can change
    besides the project, `readable` what it can see although it would be hidden.

    Processes never see `secret_variables`, nor a variable whose name begins with one of `secret_prefixes` or whose
    value holds a key. `output_limit` is how many bytes of stdout and stderr together a result keeps; `log_limit` how
    many of each its log keeps.
    """

    mode: Literal["auto", "require", "off"] = "auto"
    network: bool = True
    hidden: tuple[Path, ...] = ()
    read_only: tuple[str, ...] = ()
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    secret_variables: frozenset[str] = frozenset()
    secret_prefixes: tuple[str, ...] = ()
    output_limit: int = 256 * 1024
    log_limit: int = 64 * 1024 * 1024


_LONGEST_LINE = 400  # characters of a line for people


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `exit_code` is None after a signal or the time limit.

    `stdout` and `stderr` are capped together; of a longer one, they hold head and tail, and a line with the number of
    bytes left out. The whole is in `log`. `tampered` names the files that check the project and that the process
    altered: such a process has failed, even with exit code 0. `advice` is one line for people about a build that
    failed because of the sandbox.
    """

    exit_code: int | None
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    log: Path
    timed_out: bool
    tampered: tuple[str, ...]
    advice: str = ""

    @property
    def passed(self) -> bool:
        """Whether the exit code is 0 (what is on stderr does not count) and the integrity check found nothing."""
        return self.exit_code == 0 and not self.tampered

    def last_lines(self, most: int = 10) -> str:
        """Return the last lines of stdout and stderr for people, `most` together, without blank ones; long ones cut."""
        stdout, stderr = (
            [_cut(line) for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
            for output in (self.stdout, self.stderr)
        )
        for_stderr = min(len(stderr), max(most // 2, most - len(stdout)))
        for_stdout = min(len(stdout), most - for_stderr)
        return "\n".join(stdout[len(stdout) - for_stdout :] + stderr[len(stderr) - for_stderr :])


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."
