"""Run one git process: without a terminal, within a time limit, and with time to clean up."""

from __future__ import annotations

import fcntl
import math
import os
import resource
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import IO

from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.git.control_files import ControlFiles
from code_commit_workspace.git.layout import GitError
from code_commit_workspace.git.slow_rules import slow_rule
from code_commit_workspace.scope import Scope
from code_commit_workspace.stop import STOP
from code_commit_workspace.words import describe_ending

# Seconds.
_POLL = 0.1
_FIRST_LOOK = 0.3  # git has read all control files of most repositories by then
_BUSY_LOOK = 3.0  # a git that is at work reads a device, or it has much to do
_IDLE = 0.3  # without any processor time
_AFTER_SIGTERM, _AFTER_SIGKILL = 0.3, 30.0  # git removes its lock files in the first
_AT_EXIT = 0.05
_PIECE = 1 << 16  # bytes
# These match paths with rules, and one rule can keep git busy for years.
_MATCHING = frozenset({"check-ignore", "ls-files"})
_LONGEST_MATCHING = 20  # seconds of processor time; 100,000 files take less than one
_F_SETSIG = 10  # in fcntl(2): which signal to send


class _Lifeline:
    """A pipe between us and git. If we end in any way, the system ends git with SIGTERM."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()

    def tie(self, process: int) -> None:
        """Let the system signal the process, which has the reader, when nobody can write."""
        if sys.platform == "linux":
            fcntl.fcntl(self.reader, fcntl.F_SETOWN, process)
            fcntl.fcntl(self.reader, _F_SETSIG, signal.SIGTERM)
            fcntl.fcntl(self.reader, fcntl.F_SETFL, os.O_ASYNC)

    def close(self) -> None:
        os.close(self.reader)
        os.close(self._writer)


def run_git(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout: float = 600,
    most: int | None = None,
    files: ControlFiles | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run `command` in `folder` until it ends, or has printed more than `most` bytes.

    If it takes long, search `files` for pipes and devices, which block it. After a signal, end it;
    inside `STOP.hold`, only if it is not at work.

    Raises:
        GitError: it could not be started, or did not end within `timeout` seconds.
        NotReady: one of `files` is a pipe or a device, or has rules that take git too long.
        Interrupted: a signal came.
    """
    STOP.check()
    if files:
        files.require_plain()
    name = command_of(command[1:])
    begin = time.monotonic()
    with (
        STOP.process.child() as scope,
        closing(_Lifeline()) as lifeline,
        _started(command, folder, environ, lifeline, scope) as process,
    ):
        try:
            lifeline.tie(process.pid)
            if name in _MATCHING:
                _limit_processor_time(process.pid)
            stdout, stderr = _exchange(process, stdin, most, _Watch(process, begin, timeout, files))
        except TimeoutError:
            _end(process)
            _require_quick_rules(files, [".gitignore", ".gitattributes"])
            raise GitError(
                f"`git {name}` did not end within {timeout:g} seconds in {folder}"
            ) from None
        except BaseException:
            _end(process)
            raise
    if name in _MATCHING and process.returncode == -signal.SIGKILL:
        _require_quick_rules(files, [".gitignore"])
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _started(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    lifeline: _Lifeline,
    scope: Scope,
) -> subprocess.Popen[bytes]:
    """Start git, which ends with `scope` and with `lifeline`.

    Raises:
        GitError: it could not be started.
        Interrupted: our own process ends.
    """
    with scope.starting():
        if scope.is_over:
            raise Interrupted("interrupted")
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # no terminal for prompts; Ctrl-C ends us, not git halfway
                pass_fds=(lifeline.reader,),
            )
        except OSError as error:
            raise GitError(f"git could not be run in {folder}: {error.strerror}") from error
        scope.on_end(partial(_end_group, process.pid))
    return process


def _end_group(leader: int) -> None:
    """End git and what it started, in little time: our own process ends."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(OSError):
            os.killpg(leader, number)
        time.sleep(_AT_EXIT)


def _limit_processor_time(process: int) -> None:
    if sys.platform == "linux":
        with suppress(ProcessLookupError):  # it has ended
            limits = (_LONGEST_MATCHING, _LONGEST_MATCHING)
            resource.prlimit(process, resource.RLIMIT_CPU, limits)


def _require_quick_rules(files: ControlFiles | None, names: Sequence[str]) -> None:
    """Check whether a rule is why git did not end in time.

    Raises:
        NotReady: one may be.
    """
    rule = slow_rule(files, names) if files else ""
    if rule:
        raise NotReady(
            f"git takes too long to match files with {rule}",
            hint="simplify that line, then run again",
        )


def failure(args: Sequence[str], completed: subprocess.CompletedProcess[bytes]) -> GitError:
    """Return the error for a command that failed, with git's own message."""
    reason = stderr_of(completed) or describe_ending(completed.returncode)
    return GitError(f"`git {command_of(args)}` failed: {reason}")


def stderr_of(completed: subprocess.CompletedProcess[bytes]) -> str:
    """Return git's message, without "fatal: "."""
    return completed.stderr.decode(errors="backslashreplace").strip().removeprefix("fatal: ")


def command_of(args: Sequence[str]) -> str:
    """Return the name of the command in `args`, after git's own options; "" if there is none."""
    return next(iter(args[index_of_command(args) :]), "")


def index_of_command(args: Sequence[str]) -> int:
    """Return the index of the command in `args`; the length if there is none."""
    for index, (before, arg) in enumerate(zip(("", *args), args, strict=False)):
        if before not in {"-c", "-C"} and not arg.startswith("-"):
            return index
    return len(args)


class _Watch:
    """Ends the wait for git: in time, after a signal, or if git waits for a pipe or a device."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        begin: float,
        timeout: float,
        files: ControlFiles | None,
    ) -> None:
        self._process = process
        self._files = files
        self._begin = begin
        self._limit = self._begin + timeout
        self._busy_until = self._begin + _BUSY_LOOK
        self._pause = _FIRST_LOOK
        self._next_look = self._begin + self._pause
        self._idle_since = math.inf
        self._used = ""

    def check(self) -> None:
        """Raise an error if it is of no use to wait any longer.

        Raises:
            Interrupted: a signal came. Inside `STOP.hold`: and git only waits for something.
            NotReady: git reads, or may read, a pipe or a device.
            TimeoutError: the time is over.
        """
        STOP.check()
        now = time.monotonic()
        if now >= self._limit:
            raise TimeoutError
        if STOP.is_set and now >= self._idle_since + _IDLE and not self._has_worked():
            raise Interrupted("interrupted")
        if STOP.is_set and self._idle_since == math.inf:
            self._has_worked()
        if self._files and now >= self._next_look:
            if now < self._busy_until and self._has_worked():
                self._next_look = now + _POLL  # it does not wait
                return
            self._files.search(stop=lambda: STOP.is_set)
            self._pause *= 4
            self._next_look = time.monotonic() + self._pause

    def _has_worked(self) -> bool:
        """Return whether git has used processor time since the last call."""
        before, self._used = self._used, _used_by(self._process.pid)
        self._idle_since = time.monotonic()
        return before != self._used


def _used_by(process: int) -> str:
    """Return how much processor time a process has used.

    It is another text each time if the process is at work.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""  # another system, or it has ended
    if fields[0] in {b"R", b"D"}:
        return f"at work at {time.monotonic()}"
    return f"{fields[11]!r} {fields[12]!r}"  # utime and stime, in proc(5)


def _exchange(
    process: subprocess.Popen[bytes],
    stdin: bytes,
    most: int | None,
    watch: _Watch,
) -> tuple[bytes, bytes]:
    """Return stdout and stderr, of stdout at most one piece beyond `most`.

    Without a reader, git ends.
    """
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError("git has no pipes")
    pieces: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    stdout, stderr = pieces.values()
    unwritten = memoryview(stdin)
    size = 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            for key, _ in selector.select(_POLL):
                if key.fileobj is process.stdin:
                    unwritten = _write_some(key.fd, unwritten)
                    if not unwritten:
                        _drop(selector, process.stdin)
                    continue
                piece = os.read(key.fd, _PIECE)
                pieces[key.fd].append(piece)
                if key.fileobj is process.stdout:
                    size += len(piece)
                    if not piece or (most is not None and size > most):
                        _drop(selector, process.stdout)
                elif not piece:
                    _drop(selector, process.stderr)
            watch.check()
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
            return b"".join(stdout), b"".join(stderr)
        watch.check()


def _write_some(pipe: int, unwritten: memoryview) -> memoryview:
    """Write what fits into a pipe; return what is left, which is nothing if nobody reads it."""
    if not unwritten:
        return unwritten
    try:
        written = os.write(pipe, unwritten[: select.PIPE_BUF])
    except BrokenPipeError:
        return unwritten[:0]
    return unwritten[written:]


def _drop(selector: selectors.BaseSelector, pipe: IO[bytes]) -> None:
    selector.unregister(pipe)
    with suppress(OSError):
        pipe.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started. SIGTERM comes first, so that git removes its lock files."""
    for number, seconds in ((signal.SIGTERM, _AFTER_SIGTERM), (signal.SIGKILL, _AFTER_SIGKILL)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
