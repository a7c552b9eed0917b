"""The records of the workspace: changes, path rules, refusals, settings, results of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from code_commit_workspace.files.project_tree import normalise_path
from code_commit_workspace.words import describe_ending, shorten

_PERMISSIONS = 0o777
_LONGEST_LINE = 400  # characters of a line for people


@dataclass(frozen=True, slots=True)
class Change:
    """The whole new content of one file, or its removal. `content` None deletes.

    `path` loses a leading `./`, so that `./a` and `a` are one file; `given` is the path as it was
    given, for messages. `mode` has the permission bits of the file. With None, an existing file
    keeps its own, and the umask decides those of a new one.
    """

    path: str
    content: bytes | None = field(repr=False)
    mode: int | None = field(default=None, kw_only=True)
    given: str = field(default="", repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        # This is how to set a field of a frozen dataclass.
        object.__setattr__(self, "given", self.given or self.path)
        object.__setattr__(self, "path", normalise_path(self.path))
        if not isinstance(self.content, bytes | None):
            raise TypeError(
                f"the content of a Change is bytes or None, not {type(self.content).__name__}"
            )
        if self.mode is not None and not 0 <= self.mode <= _PERMISSIONS:
            raise ValueError(f"the mode of a Change has permission bits only, not {self.mode:o}")


class Tree(Protocol):
    """The files of the project. A link is never followed. `./a` and `a` are one path.

    `read`, `size` and `mode` raise ValueError if a path is not a plain relative one. `may_read` and
    `check` refuse such a path before, if a model names it.
    """

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        """Return the content of the regular file at `path`, or None if there is none.

        Begin at the byte `start`. With `limit`, return at most so many bytes.

        Raises:
            OSError: the file cannot be read, or a part of the path is a link.
        """
        ...

    def size(self, path: str) -> int:
        """Return the size of the regular file at `path` in bytes.

        It is 0 if there is no such file, or a part of the path is a link.
        """
        ...

    def mode(self, path: str) -> int | None:
        """Return the permission bits of the regular file at `path`, or None if there is none.

        Raises:
            OSError: a part of the path is a file or a link.
        """
        ...

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path with its content, faster than `read` for many sorted paths.

        The content is None if the path is not a regular file, cannot be read, or has more than
        `limit` bytes.
        """
        ...

    def list(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the visible files, sorted: those that git tracks or does not ignore.

        `patterns` and `recursive`: see `Workspace.files`. Each call asks git, so keep the result if
        you need it twice.

        Raises:
            NotReady: the root is not in a git repository.
            ValueError: a pattern is malformed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a path is not allowed; the path `""` stands for the whole change set.

    `then` "stop" ends the run, "repair" lets the model try again, "warn" refuses nothing and warns
    people. `plugin` is the distribution whose rule refused, empty for a built-in rule; the guard
    sets it. `hint` is advice for people, such as the name of a setting.
    """

    path: str
    rule: str
    reason: str
    then: Literal["stop", "repair", "warn"] = "stop"
    plugin: str = ""
    hint: str = ""

    def __str__(self) -> str:
        """Return the path and the reason, on one line for people and models."""
        if not self.path:
            return self.reason
        return f"{self.path}: {self.reason}"


class PathRule(Protocol):
    """Judges the changes of one response.

    It can refuse them; it can never allow what another rule refuses.
    """

    name: str

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterable[Refusal]:
        """Return a refusal for each path that is not allowed.

        One with the path `""` refuses all of `changes`. `changes` holds each path once. `tree`
        shows the files as they are before the change. An exception, a result of another type, or a
        path that is not in `changes` refuses everything.
        """
        ...


@dataclass(frozen=True, slots=True)
class Protected:
    """A name that no response may change: the file itself, or anything below a folder of that name.

    It is protected at the root of the project, or `anywhere`. A model may see it if it is
    `readable`. `description` replaces the name in prompts and messages if the name alone is not
    clear.
    """

    name: str
    description: str = ""
    anywhere: bool = False
    readable: bool = True

    def __str__(self) -> str:
        """Return the line that the model reads."""
        return self.description or self.name


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How processes run.

    `mode` "auto" uses bubblewrap where it works, "require" refuses to run without it, "off" never
    uses it. If `network` is false, processes reach no network, which requires the sandbox. A
    sandboxed process cannot see the files and folders `hidden`, and cannot change the names
    `read_only` below the root. `writable` are paths outside the project that it can change,
    `readable` are paths that it can see although they would be hidden.

    Processes never see `secret_variables`, nor a variable whose name begins with one of
    `secret_prefixes` or whose value contains a key. A result keeps `output_limit` bytes of the
    output; the log keeps `log_limit` bytes.
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


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How much the store keeps at one moment, in bytes.

    `max_file` is for one file, `max_total` for all files that were changed together. Sparse
    files count as if they had no holes. A limit is at least `LEAST_FILE` or `LEAST_TOTAL`: files
    within these are saved without a look at the limits.
    """

    LEAST_FILE: ClassVar[int] = 1024 * 1024
    LEAST_TOTAL: ClassVar[int] = 64 * 1024 * 1024

    max_file: int = 256 * 1024 * 1024
    max_total: int = 4 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `exit_code` is None after a signal or the time limit.

    `output` is stdout and stderr in the order of arrival, as a terminal would show it: of text that
    overwrote other text, such as a progress bar, the last state. A long output is reduced to its
    head and tail, with a line between that gives the number of bytes left out. `log` has more of
    it, as it was written.

    `signal` is the number of the signal that ended the process, None also where the sandbox reports
    128 + N instead. `time_limit` is in seconds, None if it was not reached. `tampered` names the
    files that check the project and that the process altered: such a process has failed, even with
    exit code 0. `advice` is one line for people if the build failed because of the sandbox.
    """

    exit_code: int | None
    output: bytes = field(repr=False)
    log: Path
    _: KW_ONLY
    signal: int | None = None
    time_limit: float | None = None
    tampered: tuple[str, ...] = ()
    advice: str = ""

    @property
    def passed(self) -> bool:
        """Whether the exit code is 0 and the integrity check found nothing.

        What is on stderr does not count.
        """
        return self.exit_code == 0 and not self.tampered

    @property
    def timed_out(self) -> bool:
        """Whether the process was killed at its time limit."""
        return self.time_limit is not None

    @property
    def ending(self) -> str:
        """How the process ended, to follow its name.

        For example: "ended with exit code 1", "was ended by signal 9 (SIGKILL)", "ran into its time
        limit of 60 s".
        """
        return describe_ending(self.exit_code, self.signal, self.time_limit)

    def last_lines(self, most: int = 10) -> str:
        """Return the last `most` lines of the output, without blank lines; long lines are cut."""
        text = self.output.decode("utf-8", "replace")
        lines = [line for line in text.splitlines() if line.strip()]
        begin = max(0, len(lines) - most)
        return "\n".join(shorten(line, _LONGEST_LINE) for line in lines[begin:])
