"""The way to run a build or a command: isolated, bounded, logged, and over when it is over."""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from code_commit.process import sandbox
from code_commit.process.capture import Output, ProcessLog
from code_commit.process.environment import without_keys
from code_commit.process.judge import Ignored, Judge, Sealed
from code_commit.process.launch import Started, start_isolated, start_supervised
from code_commit.records.errors import NotReady
from code_commit.records.workflow import ProcessResult
from code_commit.redaction import Redactor

_CHUNK = 128 * 1024
_LONGEST_WAIT = 3600.0  # seconds in one call of the system; the deadline may be later
_LAST_WORDS = 1.0  # seconds to read what is left in the pipes of a process that is over
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # as shells say


class ProcessRunner:
    """Runs processes in the project at `root`.

    Args:
        root: the project, where processes start.
        redactor: keeps live keys out of logs and results, and finds them in the environment.
        sandbox: "auto" uses bubblewrap where it works, "require" refuses to run without, "off" never uses it.
        network: whether processes reach the network; turning it off takes the sandbox.
        output_limit: bytes of stdout, and of stderr, that a result keeps: the head and the tail.
        log_limit: bytes of each that go to the log.
        secret_variables: environment variables that processes never see.
        protected: what else is read-only and judged: git's folders of a linked worktree or of a repository above.
        hidden: what else processes cannot see in the sandbox: files with keys.
        ignored: tells which of some folders (relative to the root) git ignores.
    """

    def __init__(
        self,
        root: Path,
        *,
        redactor: Redactor,
        sandbox: Literal["auto", "require", "off"] = "auto",
        network: bool = True,
        output_limit: int = 256 * 1024,
        log_limit: int = 64 * 1024 * 1024,
        secret_variables: Iterable[str] = (),
        protected: Iterable[Path] = (),
        hidden: Iterable[Path] = (),
        ignored: Ignored | None = None,
    ) -> None:
        self._root = root
        self._redactor = redactor
        self._mode = sandbox
        self._network = network
        self._output_limit = output_limit
        self._log_limit = log_limit
        self._secret_variables = frozenset(secret_variables)
        self._protected = tuple(protected)
        self._hidden = tuple(hidden)
        self._ignored = ignored

    @property
    def sandbox_in_use(self) -> Literal["bubblewrap", "off"]:
        """The isolation that the next process gets.

        Raises:
            NotReady: the settings ask for isolation that does not work here.
        """
        if self._mode == "off":
            return "off"
        reason = sandbox.why_not(network=self._network)
        if not reason:
            return "bubblewrap"
        if self._mode == "require":
            raise NotReady(f"No sandbox: {reason}.", hint="Install bubblewrap, or pass --sandbox auto or off.")
        if not self._network:
            raise NotReady(
                f"The network cannot be turned off for a build: {reason}.",
                hint="Install bubblewrap, or allow the network, or pass --sandbox off.",
            )
        return "off"

    def run(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        timeout: float,
        stdin: bytes = b"",
        isolation_required: bool = False,
    ) -> ProcessResult:
        """Run `argv` in the project until it ends or `timeout` seconds are over; nothing that it started runs on.

        A command that does not exist gives exit code 127, one that cannot be executed 126, as a shell would. In the
        sandbox a process that died by signal N gives 128 + N, for bubblewrap tells no more.

        Raises:
            NotReady: the project is gone, bash is missing, or isolation is asked for that does not work here.
            OSError: the log cannot be written.
        """
        if not self._root.is_dir():
            raise NotReady(f"The project folder {self._root} is gone.", hint="Change to the project and start again.")
        isolated = self.sandbox_in_use == "bubblewrap"
        if isolation_required and not isolated and self._mode != "off":
            reason = sandbox.why_not(network=self._network)
            raise NotReady(
                f"Commands of the model's choosing run isolated only: {reason}.",
                hint="Install bubblewrap, or pass --sandbox off to run them with your own rights.",
            )
        env = without_keys(os.environ, self._redactor, self._secret_variables)
        judge = Judge(self._root, git_folders=self._protected, ignored=self._ignored, state_hidden=isolated)
        before = judge.seal()
        with self._open_log(log, argv, isolated=isolated) as record:
            code, trouble = _findable(argv, self._root, env)
            over_time = False
            if not trouble:
                ...
        raise NotImplementedError
