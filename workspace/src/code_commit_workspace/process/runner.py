"""Run a build or a command: isolated, limited, logged, with nothing left running."""

from __future__ import annotations

import fcntl
import os
import selectors
import shlex
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.files.path_kinds import is_folder
from code_commit_workspace.files.programs import require_program
from code_commit_workspace.git.control_files import ControlFiles, require_plain
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.capture import ProcessLog
from code_commit_workspace.process.checked_files import FindIgnored
from code_commit_workspace.process.folders import Folders
from code_commit_workspace.process.hard_links import linked_elsewhere, replace_by_copies
from code_commit_workspace.process.integrity import BUILD_SCRIPT, IntegrityCheck, Sealed
from code_commit_workspace.process.launch import Process
from code_commit_workspace.process.proxy_variables import is_proxy, without_password
from code_commit_workspace.process.sandbox.sandbox import Sandbox
from code_commit_workspace.records import ProcessResult, SandboxSettings
from code_commit_workspace.scope import Scope
from code_commit_workspace.stop import STOP
from code_commit_workspace.words import describe_ending

if TYPE_CHECKING:
    from code_commit_workspace.process.running import RunningProcess

_CHUNK = 128 * 1024
_MOST_RULES = 32  # `.gitignore` files to mount read-only
_LONGEST_SELECT = 3600.0  # seconds in one system call; the time limit may be longer
_PATIENCE = 10.0  # seconds for a killed process to end
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126  # as in shells


class ProcessRunner:
    """Runs processes in the project at `root`.

    Args:
        root: the project, where processes start.
        settings: how processes run.
        scope: processes end with it, and none starts when it is over.
        redactor: keeps live keys out of logs and results, and finds them in the environment.
        state_folder: below the root, in the private folder, which is hidden from processes.
        build_script: read-only and checked, like `.gitignore` files and `.git`.
        protected: other paths that are read-only and checked: git's folders of a linked worktree or
            a repository above.
        ignored: returns which of some folders (relative to the root) git ignores.
        not_searched: see `IntegrityCheck`.
    """

    def __init__(
        self,
        root: Path,
        settings: SandboxSettings,
        *,
        scope: Scope = STOP,
        redactor: Redactor,
        state_folder: str,
        build_script: str = BUILD_SCRIPT,
        protected: Iterable[Path] = (),
        ignored: FindIgnored | None = None,
        not_searched: Iterable[str] = (),
    ) -> None:
        private_folder = state_folder.partition("/")[0]
        self._root = root
        self._settings = settings
        self._scope = scope
        self._redactor = redactor
        self._protected = tuple(protected)
        self._read_only = (".git", ".gitignore", build_script, *settings.read_only)
        self._sandbox = Sandbox(
            root,
            network=settings.network,
            hidden=(root / private_folder, *settings.hidden),
            read_only=self._unchangeable,
            protected=self._protected,
            repositories=lambda: self._sealed.files.repositories,
            writable=settings.writable,
            readable=settings.readable,
        )
        # No process can write there, so what is there needs no search.
        self._unreachable = (private_folder, *settings.read_only)
        self._integrity = partial(
            IntegrityCheck,
            root,
            tree=Folders(root),
            state_folder=state_folder,
            build_script=build_script,
            not_searched=not_searched,
            git_folders=self._protected,
            ignored=ignored,
        )
        self._search_for_linked: threading.Thread | None = None
        self._linked: list[list[str]] | None = None  # None: not searched yet
        self._warned = False

    def look_ahead(self) -> None:
        """Prepare the sandbox; look for hard links in the background.

        Raises:
            NotReady: as `sandbox_in_use`; or git would wait for a pipe or a device.
        """
        if self._search_for_linked is not None:
            return
        isolated = self.sandbox_in_use != "off"
        self._require_plain_control_files()
        if isolated and self._linked is None:
            search = threading.Thread(target=self._look_for_linked, name="hard links", daemon=True)
            self._search_for_linked = search
            search.start()

    def _require_plain_control_files(self) -> None:
        """Check before a call is paid for what would end the first snapshot.

        Raises:
            NotReady: git would wait for a pipe or a device.
        """
        files = self._sealed.files
        require_plain(self._root / path for path in files.special)
        for folder in files.repositories:
            repository = self._root / folder
            ControlFiles(repository, (repository / ".git",)).require_plain()

    def _look_for_linked(self) -> None:
        with suppress(Interrupted):  # the run ends, and nobody asks for them
            self._linked = self._find_linked()

    def _find_linked(self) -> list[list[str]]:
        root = os.path.realpath(self._root)
        return linked_elsewhere(
            root, skip=[f"{root}/{name}" for name in (".git", *self._unreachable)]
        )

    def _replace_linked(self) -> None:
        """Replace files with another name outside of the project, before the first process.

        Raises:
            NotReady: one cannot be replaced.
        """
        if self._search_for_linked is not None:
            STOP.join(self._search_for_linked)
        if self._linked is None:  # nobody looked ahead, or that failed
            self._linked = self._find_linked()
        replace_by_copies(self._linked)
        self._linked = []

    @cached_property
    def _sealed(self) -> Sealed:
        """The state of the checked files before the first process of the run."""
        return self._integrity(state_hidden=True).seal()

    @property
    def sandbox_in_use(self) -> Literal["bubblewrap", "off"]:
        """Return the isolation of the next process.

        Raises:
            NotReady: the settings require isolation that does not work here; or it works, but not
                for this project.
        """
        if self._settings.mode == "off":
            return "off"
        reason = self._sandbox.why_not()
        fault = reason or self._sandbox.unprotected
        if fault and self._settings.mode == "require":
            hint = "pass --sandbox auto or off"
            if "not installed" in fault:
                hint = f"install bubblewrap, or {hint}"
            raise NotReady(f"no sandbox: {fault}", hint=hint)
        if not reason:
            return "bubblewrap"
        if not self._settings.network:
            raise NotReady(
                f"builds cannot run without a network: {reason}",
                hint="install bubblewrap, set sandbox.network = true, or pass --sandbox off",
            )
        return "off"

    def place_hiding(self, path: str) -> str:
        """Return the place that hides the absolute `path` from the next process, or an empty text.

        Raises:
            NotReady: as `sandbox_in_use`.
        """
        if self._settings.mode == "off" or not self._sandbox.may_hide(path):
            return ""
        if self.sandbox_in_use == "off":
            return ""
        return self._sandbox.place_hiding(path)

    def sandbox_warning(self) -> str:
        """See `Workspace.sandbox_warning`."""
        if self._settings.mode != "auto" or self._warned:
            return ""
        self._warned = True
        reason = self._sandbox.why_not()
        if reason:
            return (
                f"no sandbox: {reason}; builds and commands can read and change everything that "
                "you can, including your home folder"
            )
        return self._sandbox.unprotected

    def run(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        timeout: float,
        stdin: bytes = b"",
        env: Mapping[str, str] = MappingProxyType({}),
        isolation_required: bool = False,
        scope: Scope | None = None,
    ) -> ProcessResult:
        """Run `argv` in the project until it ends or `timeout` seconds pass.

        `env` is added to its environment. Nothing that it started keeps running. As in a shell, the
        exit code is 127 for a missing command, and 126 for one that cannot be executed. In the
        sandbox, it is 128 + N after signal N, because bubblewrap reports no more.

        Raises:
            NotReady: the project is gone, bash is missing, or isolation is required but does not
                work here.
            OSError: the log cannot be written.
            Interrupted: the scope ended, or a signal came.
        """
        ready = self._get_ready(argv, env, isolation_required=isolation_required)
        with self._log(log, argv, isolated=ready.wrapper is not None) as record:
            try:
                ending = self._run(ready, stdin, timeout, record, scope or self._scope)
            except BaseException as error:
                with suppress(OSError):
                    record.end(f"interrupted ({type(error).__name__})")
                raise
            output = record.finish()
            # Without a sandbox, the log may be among the files that are compared.
            tampered = tuple(name for name in ready.altered() if self._root / name != log)
            changes = (f"changed a protected file: {name}" for name in tampered)
            record.end("\n".join([str(ending), *changes]))
        text = output.decode("utf-8", "replace")
        if ending.sandbox_failed:
            raise NotReady(
                f"the sandbox could not be set up: {text.strip()}",
                hint="fix this, or pass --sandbox off",
            )
        advice = ""
        if ending.exit_code and ready.wrapper is not None and not isolation_required:
            advice = self._sandbox.advice(text)
        return ProcessResult(
            ending.exit_code,
            output,
            log,
            signal=ending.signal,
            time_limit=ending.time_limit,
            tampered=tampered,
            advice=advice,
        )

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        isolation_required: bool = False,
    ) -> RunningProcess:
        """Start `argv` in the project and return it with pipes; `env` is added to its environment.

        Raises:
            NotReady: it cannot be started, or as `run`.
            Interrupted: the scope is over.
        """
        ready = self._get_ready(argv, env, isolation_required=isolation_required)
        from code_commit_workspace.process.running import start

        return start(
            ready.argv,
            wrapper=ready.wrapper,
            root=self._root,
            env=ready.env,
            altered=ready.altered,
            scope=self._scope,
        )

    def remove_private_folders(self) -> None:
        """Remove the temporary folders of the sandbox. Call it when no process is running."""
        self._sandbox.close()

    def _run(
        self,
        ready: _Ready,
        stdin: bytes,
        timeout: float,
        record: ProcessLog,
        scope: Scope,
    ) -> _Ending:
        with ExitStack() as ends:
            try:
                process = Process(
                    ready.argv,
                    wrapper=ready.wrapper,
                    cwd=self._root,
                    env=ready.env,
                    stdin=stdin,
                    one_output=True,
                )
            except (OSError, ValueError) as error:  # the command is too long, or holds NUL
                return _Ending(_NOT_EXECUTABLE, trouble=f"{ready.argv[0]}: {error}")
            ends.enter_context(process)
            ends.enter_context(scope.child(process.kill))
            ends.callback(_drain, process, record)
            ends.callback(process.end)
            killed = _attend(process, record, timeout)
        STOP.check()
        if scope.is_over:
            raise Interrupted("the process was stopped")
        if process.exit_code is None and killed:
            return _Ending(None, time_limit=timeout, trouble=process.trouble)
        if not process.ran:
            return _ending_before_start(record.finish())
        return _Ending(process.exit_code, process.signal, trouble=process.trouble)

    def _get_ready(
        self, argv: Sequence[str], more: Mapping[str, str], *, isolation_required: bool
    ) -> _Ready:
        """Prepare the start of `argv`; `more` is added to its environment."""
        if isinstance(argv, str):  # also a sequence, of letters
            raise TypeError(
                f"a command is a list of words, such as ['make', 'test'], not {argv!r:.100}"
            )
        STOP.check()
        if self._scope.is_over:
            raise Interrupted("no process can start: the run is over")
        if not is_folder(self._root):
            raise NotReady(
                f"the project folder {self._root} is gone",
                hint="change to the project, then run again",
            )
        isolated = self.sandbox_in_use == "bubblewrap"
        if isolation_required and not isolated and self._settings.mode != "off":
            reason = self._sandbox.why_not()
            raise NotReady(
                f"commands that a model chooses only run in the sandbox: {reason}",
                hint="install bubblewrap, or pass --sandbox off to run them with your rights",
            )
        env = _without_keys(os.environ, self._redactor, self._settings)
        if argv[0] == "bash":
            argv = (require_program("bash", self._root, self._settings.writable), *argv[1:])
        if isolated:
            env = self._sandbox.environment(env)
            self._replace_linked()
        unreachable = self._unreachable if isolated else None
        integrity = self._integrity(state_hidden=isolated, unreachable=unreachable)
        sealed = integrity.seal()
        wrapper = self._sandbox.wrapper() if isolated else None
        return _Ready(argv, env | dict(more), partial(integrity.altered, sealed), wrapper)

    def _unchangeable(self) -> Iterator[str]:
        # More mounts would slow down every start; other rules are compared before and after.
        yield from (*self._read_only, *self._sealed.files.rules[:_MOST_RULES])

    def _log(self, path: Path, argv: Sequence[str], *, isolated: bool) -> ProcessLog:
        # Redact each argument before quoting, which could split a key.
        command = shlex.join(self._redactor.text(argument) for argument in argv)
        sandbox = "off"
        if isolated:
            sandbox = "bubblewrap" if self._settings.network else "bubblewrap, no network"
        return ProcessLog(
            path,
            self._redactor,
            f"command: {command}\nsandbox: {sandbox}",
            in_memory=self._settings.output_limit,
            on_disk=self._settings.log_limit,
        )


@dataclass(frozen=True, slots=True)
class _Ready:
    """How to start a process; `wrapper` is None without a sandbox.

    `altered` returns afterwards what it altered.
    """

    argv: Sequence[str]
    env: dict[str, str]
    altered: Callable[[], tuple[str, ...]]
    wrapper: list[str] | None


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a process ended; `str()` returns the lines for its log."""

    exit_code: int | None
    signal: int | None = None
    time_limit: float | None = None
    trouble: str = ""
    sandbox_failed: bool = False

    def __str__(self) -> str:
        ending = describe_ending(self.exit_code, self.signal, self.time_limit)
        if self.sandbox_failed:
            ending = "not run: the sandbox could not be set up"
        return f"{ending}\n{self.trouble}" if self.trouble else ending


def _ending_before_start(message: bytes) -> _Ending:
    """Return the ending of a command that bubblewrap did not start, from its message."""
    if not message.startswith(b"bwrap: execvp "):
        return _Ending(None, sandbox_failed=message.startswith(b"bwrap: "))
    if b"No such file" in message:
        return _Ending(_NOT_FOUND)
    return _Ending(_NOT_EXECUTABLE)


def _without_keys(
    environment: Mapping[str, str],
    redactor: Redactor,
    settings: SandboxSettings,
) -> dict[str, str]:
    """Return `environment` without the secret variables of `settings` and without keys.

    A proxy keeps its password: a build needs it for the network.
    """

    def is_secret(name: str, value: str) -> bool:
        if name in settings.secret_variables or name.startswith(settings.secret_prefixes):
            return True
        if is_proxy(name):
            value = without_password(value)
        return redactor.holds_key(os.fsencode(value))

    return {name: value for name, value in environment.items() if not is_secret(name, value)}


def _attend(process: Process, record: ProcessLog, timeout: float) -> bool:
    """Read its output until the process ends; return whether it was killed at the time limit."""
    deadline = time.monotonic() + timeout
    killed = False
    with selectors.DefaultSelector() as selector:
        selector.register(process.status, selectors.EVENT_READ, process.feed_status)
        selector.register(process.stdout, selectors.EVENT_READ, record.output.feed)
        while process.status in selector.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                if killed:
                    break
                killed = True
                process.kill()
                deadline = time.monotonic() + _PATIENCE
                continue
            for key, _ in selector.select(min(remaining, _LONGEST_SELECT)):
                data = os.read(key.fd, _CHUNK)
                if data:
                    key.data(data)
                else:
                    selector.unregister(key.fd)
    return killed


def _drain(process: Process, record: ProcessLog) -> None:
    """Read what is left of the output of an ended process.

    Other processes may keep the pipe open; do not wait for them.
    """
    answer = fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4))
    length = int.from_bytes(answer, sys.byteorder)
    record.output.feed(os.read(process.stdout, length))
