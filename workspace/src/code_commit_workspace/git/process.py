"""Run one git process: without a terminal, within a time limit, and with time to clean up."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from code_commit_workspace.git.layout import GitError

_GRACE_PERIOD = 30.0  # seconds for git to remove its lock files after SIGTERM


def run_git(
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout: float = 600,
    most: int | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run `command` in `folder` until it ends, or has printed more than `most` bytes.

    Raises:
        GitError: it could not be started, or did not end within `timeout` seconds.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # no terminal for prompts; Ctrl-C ends us, not git halfway
        )
    except OSError as error:
        raise GitError(f"git could not be run in {folder}: {error.strerror}") from error
    with process:
        try:
            stdout, stderr = _communicate(process, stdin, timeout, most)
        except subprocess.TimeoutExpired:
            _end(process)
            name = command_of(command[1:])
            raise GitError(f"`git {name}` did not end within {timeout:g} seconds in {folder}") from None
        except BaseException:
            _end(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def failure(args: Sequence[str], done: subprocess.CompletedProcess[bytes]) -> GitError:
    """Return the error for a command that failed, with git's own message."""
    return GitError(f"`git {command_of(args)}` failed: {stderr_of(done) or f'exit code {done.returncode}'}")


def stderr_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return git's message, without "fatal: "."""
    return done.stderr.decode(errors="backslashreplace").strip().removeprefix("fatal: ")


def command_of(args: Sequence[str]) -> str:
    """Return the name of the command in `args`, after git's own options; "" if there is none."""
    return next(iter(args[index_of_command(args) :]), "")


def index_of_command(args: Sequence[str]) -> int:
    """Return the index of the command in `args`; the length if there is none."""
    for index, (before, arg) in enumerate(zip(("", *args), args, strict=False)):
        if before not in {"-c", "-C"} and not arg.startswith("-"):
            return index
    return len(args)


def _communicate(
    process: subprocess.Popen[bytes], stdin: bytes, timeout: float, most: int | None
) -> tuple[bytes, bytes]:
    """Return stdout and stderr. Of stdout, return at most one byte more than `most`: without a reader, git ends."""
    pipe = process.stdout
    if most is None or pipe is None:
        return process.communicate(stdin, timeout)
    begin: list[bytes] = []

    def read() -> None:
        with pipe:
            begin.append(pipe.read(most + 1))

    process.stdout = None  # `communicate` leaves it alone
    reader = Thread(target=read, name="git", daemon=True)
    reader.start()
    _, stderr = process.communicate(stdin, timeout)
    reader.join()
    return begin[0], stderr


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started. SIGTERM comes first, so that git removes its lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_PERIOD)
