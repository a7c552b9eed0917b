"""A process that runs while the caller talks to it through pipes."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import exists, is_folder
from code_commit_workspace.process.launch import Process
from code_commit_workspace.scope import Scope
from code_commit_workspace.stop import STOP


def start(
    argv: Sequence[str],
    *,
    wrapper: list[str] | None,
    root: Path,
    env: Mapping[str, str],
    altered: Callable[[], tuple[str, ...]],
    scope: Scope,
) -> RunningProcess:
    """Start `argv` in `root`, in the sandbox that `wrapper` creates. It ends with `scope`.

    `altered` returns at the end what it altered.

    Raises:
        NotReady: it cannot be started.
    """
    try:
        _require_program(argv[0], root, env)
        process = Process(argv, wrapper=wrapper, cwd=root, env=env, stdin=None)
    except (OSError, ValueError) as error:
        raise NotReady(f"{argv[0]} cannot be started: {error}") from error
    ends = ExitStack()
    ends.enter_context(process)
    running = RunningProcess(process, altered, ends)
    ends.enter_context(scope.child(process.kill, close=running.close))
    return running


def _require_program(name: str, root: Path, env: Mapping[str, str]) -> None:
    """Check that a program can be executed.

    Raises:
        OSError: it is missing, or is not an executable file.
    """
    path: str | Path | None = root / name
    if "/" not in name:
        path = shutil.which(name, path=env.get("PATH"))
    if path is None or not exists(path):
        raise FileNotFoundError(f"{name}: not found")
    if is_folder(path) or not os.access(path, os.X_OK):
        raise PermissionError(f"{name}: not an executable file")


class RunningProcess:
    """A running process: write to `stdin`, read from `stdout` and `stderr`, all unbuffered.

    As a context manager, it ends the process and everything that it started on exit. After that,
    `tampered` names the files that check the project and that were altered meanwhile.
    """

    def __init__(
        self,
        process: Process,
        altered: Callable[[], tuple[str, ...]],
        ends: ExitStack,
    ) -> None:
        self.stdin, self.stdout, self.stderr = process.pipes
        self.tampered: tuple[str, ...] = ()
        self._process = process
        self._altered = altered
        self._ends: ExitStack | None = ends  # None once it has ended
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the process ends and return its exit code; None after a signal.

        Raises:
            TimeoutError: it did not end within `timeout` seconds.
            Interrupted: a signal came.
        """
        with self._lock:
            if self._ends is None:
                exit_code = self._process.exit_code
            else:
                exit_code = self._process.wait(timeout)
        STOP.check()
        return exit_code

    def kill(self) -> None:
        """Start ending the process; callable from any thread."""
        self._process.kill()

    def close(self) -> None:
        """End the process, wait for it, and close its pipes. A second call does nothing."""
        self.kill()
        with self._lock, STOP.hold():
            ends, self._ends = self._ends, None
            if ends is not None:
                ends.close()
                self.tampered = self._altered()
