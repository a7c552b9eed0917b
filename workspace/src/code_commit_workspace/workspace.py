"""The `Workspace`: the only way to read, change or run anything in a project folder.

with Workspace.open(root, writes=True, private_folder=".my-tool") as workspace:
    run = workspace.begin("my-tool")
    with run.trial() as trial:
        workspace.apply(changes, run=run)
        if workspace.run_build(log=log, timeout=600).passed:
            trial.keep()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self

from code_commit_workspace.errors import ChangeSetRefused, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.move.home import STORE, make_state_folder
from code_commit_workspace.move.lock import ProjectLock
from code_commit_workspace.move.recover import recover
from code_commit_workspace.records import Protected, SandboxSettings, StoreLimits
from code_commit_workspace.scope import Scope
from code_commit_workspace.stop import STOP

# Imported on first use: a command that only reads starts no process and checks no changes, and one
# that only asks for sizes opens nothing.
if TYPE_CHECKING:
    from code_commit_workspace.git import Git
    from code_commit_workspace.guard.guard import Guard, VisibleTree
    from code_commit_workspace.move.moving import Moved
    from code_commit_workspace.opening import Repository
    from code_commit_workspace.process.runner import ProcessRunner
    from code_commit_workspace.process.running import RunningProcess
    from code_commit_workspace.records import Change, PathRule, ProcessResult, Refusal
    from code_commit_workspace.store import RunChanges, Store

_STATE_FOLDER = ".workspace"  # the default name, in the private folder
_ENDS_WITHIN = 2.0  # seconds for another thread to notice the end of its process

Rules = Sequence[tuple[str, "PathRule"]]
"""Path rules besides the built-in ones, each with the name of its distribution."""


@dataclass(kw_only=True, eq=False, repr=False)
class Workspace:
    """A project folder without a half-applied change set.

    Open it with `Workspace.open`, in a `with` statement.

    `git` runs git, `redactor` hides keys, `state_folder` keeps state between runs. `project` opens
    files and folders through handles, so that no link is followed. `recovered` describes what was
    rolled back after an interrupted run; None if nothing was. `scope` ends the processes: when it
    is over, none starts. `started` is whether `start_process` started one.
    """

    root: Path
    writes: bool
    project: ProjectTree
    git: Git
    redactor: Redactor
    private_folder: str
    state_folder: Path
    build_script: str
    protected: tuple[Protected, ...]
    sandbox: SandboxSettings
    store_limits: Callable[[], StoreLimits]
    max_files: int
    recovered: str | None
    scope: Scope
    _lock: ProjectLock | None
    _stack: ExitStack
    started: bool = False
    _warnings: set[str] = field(default_factory=set)

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        writes: bool,
        private_folder: str,
        state_folder: str | None = None,
        repository: Repository = "required",
        build_script: str = "build.sh",
        may_change_build_script: bool = False,
        protected: Iterable[Protected] = (),
        redactor: Redactor | None = None,
        sandbox: SandboxSettings | None = None,
        store_limits: Callable[[], StoreLimits] = StoreLimits,
        max_files: int = 10_000,
    ) -> Workspace:
        """Open the project at `root`, and roll back the change set of an interrupted run.

        With `writes`, hold the project's lock until the workspace is closed. Otherwise, never hold
        it, but do not open while another run is changing files.

        No process and no model may see the `private_folder`. The `state_folder`, directly in it,
        has the journal and the store; without it, `.workspace` in the private folder. No
        change may touch the names `protected`, nor the build script unless you allow it, and no
        change set may have more than `max_files`.
        `store_limits` is called if there are large files.

        Raises:
            NotReady: something is missing, or another run holds the lock or is changing files.
        """
        from code_commit_workspace.git import Git
        from code_commit_workspace.opening import (
            home_of,
            needs_private_git,
            private_git,
            recover_for_reading,
            require_open_files,
        )

        STOP.check()
        root = root.absolute()
        state_folder = state_folder or f"{private_folder}/{_STATE_FOLDER}"
        home = home_of(root, private_folder, state_folder)
        require_open_files()
        sandbox = sandbox or SandboxSettings()
        protected = tuple(protected)
        if not may_change_build_script and build_script not in {entry.name for entry in protected}:
            protected = (*protected, Protected(build_script))
        with ExitStack() as stack:
            try:
                tree = stack.enter_context(ProjectTree(root))
            except OSError as error:
                raise NotReady(f"the folder {root} cannot be opened: {error.strerror}") from error
            git = Git(root, writable=sandbox.writable)
            is_private = needs_private_git(git, repository, home)
            lock = None
            if writes:
                lock = stack.enter_context(ProjectLock(home))
            if is_private:
                git = private_git(root, home, replace=writes, writable=git.writable)
            with STOP.hold():
                if writes:
                    recovered = recover(tree, home)
                else:
                    recovered = recover_for_reading(tree, home)
            workspace = cls(
                root=root,
                writes=writes,
                project=tree,
                git=git,
                redactor=redactor or Redactor(),
                private_folder=private_folder,
                state_folder=home,
                build_script=build_script,
                protected=protected,
                sandbox=sandbox,
                store_limits=store_limits,
                max_files=max_files,
                recovered=recovered,
                scope=stack.enter_context(STOP.child()),
                _lock=lock,
                _stack=stack,
            )
            if writes:
                with STOP.hold():
                    workspace._finish_interrupted()
            workspace._stack = stack.pop_all()
            return workspace

    def _finish_interrupted(self) -> None:
        """Move back what a killed run tried, and add a sentence about that to `recovered`."""
        from code_commit_workspace.store.undo import finish_interrupted

        sentences = (self.recovered, finish_interrupted(self.store))
        self.recovered = "; ".join(filter(None, sentences)) or None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End running processes, release the lock, and close the folder."""
        with STOP.hold(), self._stack:  # releases the lock even if a process cannot be ended
            self.scope.end()
            if self.scope.wait_until_over(_ENDS_WITHIN) and "_runner" in self.__dict__:
                self._runner.remove_private_folders()

    def name_run(self, run: str) -> None:
        """Record the name of the run that holds the lock, for the message to other processes."""
        if self._lock:
            self._lock.name(run)

    @property
    def tree(self) -> VisibleTree:
        """The files of the project as path rules see them, to read and list."""
        return self._guard.visible

    # --- reading ----------------------------------------------------------------------------------

    def files(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the files that git tracks or does not ignore and that a model may see, sorted.

        `patterns` have the syntax of a `.gitignore` file in the root; without patterns, return all
        files. If `recursive`, a plain name matches at any depth; otherwise nothing below a
        pattern's own folder matches.

        Raises:
            NotReady: the root is not in a git repository, or git cannot list its files.
            ValueError: a pattern is malformed.
        """
        return self._guard.files(patterns, recursive=recursive)

    def select(
        self, patterns: Sequence[str] = (), *, among: AbstractSet[str]
    ) -> tuple[tuple[str, ...], dict[str, Refusal]]:
        """Return the `files` in a result of `listed`, and the refusals of other paths that match.

        Raises:
            ValueError: a pattern is malformed.
        """
        return self._guard.select(patterns, among=among)

    def listed(self) -> AbstractSet[str]:
        """Return the paths that git tracks or does not ignore.

        They include those that a model may not see.

        Raises:
            NotReady: the root is not in a git repository, or git cannot list its files.
        """
        return self.git.list_files()

    def may_read(self, path: str) -> Refusal | None:
        """Return the refusal if a model may not see `path`, else None."""
        return self._guard.may_read(path)

    # --- changes ----------------------------------------------------------------------------------

    @property
    def rule_traces(self) -> Sequence[str]:
        """The tracebacks of exceptions from the path rules of plugins."""
        return self._guard.traces

    def check(
        self,
        changes: Sequence[Change],
        rules: Rules = (),
        *,
        warn: Callable[[str], None] | None = None,
    ) -> tuple[Refusal, ...]:
        """Check `changes` with every path rule; return the refusals, none if all are allowed.

        `warn` gets warnings.
        """
        verdicts = self._guard.check(changes, rules)
        refusals = tuple(verdict for verdict in verdicts if verdict.then != "warn")
        if not warn:
            return refusals
        for verdict in verdicts:
            if verdict.then == "warn":
                warn(str(verdict))
        if not refusals:  # one refusal refuses all changes, so that nothing is written
            written = [change.path for change in changes if change.content is not None]
            for warning in self.executed(written):
                warn(warning)
        return refusals

    def executed(self, written: Collection[str]) -> list[str]:
        """Return a warning for each of the files `written` that other programs execute.

        Each warning is returned only once.
        """
        from code_commit_workspace.guard.executed import executed

        texts = [text for text in executed(written, self.project) if text not in self._warnings]
        self._warnings.update(texts)
        return texts

    def apply(
        self,
        changes: Sequence[Change],
        rules: Rules = (),
        *,
        run: RunChanges,
        shown: Mapping[str, bytes | None] | None = None,
    ) -> Moved:
        """Check `changes` again, then put all of them on disk for `run`, or none.

        A signal takes effect before or after that. `shown` has the files as the writer saw them:
        what a person changed elsewhere in them since then stays.

        Raises:
            ChangeSetRefused: a path is not allowed; nothing was changed.
            Conflict: a person changed a file at the same places; nothing was changed.
            NotReady: a write failed; the tree is as it was.
        """
        self._require_writes()
        refusals = self.check(changes, rules)
        if refusals:
            raise ChangeSetRefused(refusals)
        STOP.check()
        return run.apply(changes, shown)

    def diff(self, changes: Sequence[Change], *, most: int | None = None) -> str:
        """Return a unified diff of `changes` against the disk.

        Raises:
            NotReady: the old and new files have more than `most` bytes.
        """
        from code_commit_workspace.diff import unified_diff

        return unified_diff(self.project, changes, self.git.writable, most=most)

    @staticmethod
    def store_bytes(root: Path, state_folder: str) -> int:
        """Return how many bytes the store of the project at `root` takes."""
        from code_commit_workspace.files.folder_size import folder_size

        return folder_size(root / state_folder / STORE)

    @cached_property
    def store(self) -> Store:
        """The states of the project, and the logs of its runs.

        Raises:
            NotReady: the workspace was opened for reading only.
        """
        from code_commit_workspace.store import Store

        self._require_writes()
        return Store(self.project, self.git, self.state_folder, self.store_limits)

    def begin(self, run: str, warn: Callable[[str], object] = str) -> RunChanges:
        """Return what changes the files for a new run of this name; `warn` gets texts for people.

        Raises:
            NotReady: the workspace was opened for reading only.
            ValueError: `run` is not a plain name.
        """
        from code_commit_workspace.store import RunChanges

        return RunChanges(self.store, self.store.logs.begin(run), warn)

    # --- processes --------------------------------------------------------------------------------

    @cached_property
    def _runner(self) -> ProcessRunner:
        from code_commit_workspace.process.checked_files import checked_outside
        from code_commit_workspace.process.runner import ProcessRunner

        return ProcessRunner(
            self.root,
            self.sandbox,
            scope=self.scope,
            redactor=self.redactor,
            state_folder=str(self.state_folder.relative_to(self.root)),
            build_script=self.build_script,
            protected=checked_outside(self.git),
            ignored=self.git.ignored,
            not_searched=[entry.name for entry in self.protected if not entry.anywhere],
        )

    def look_ahead(self) -> None:
        """Start preparing the sandbox in the background, so that the first process starts sooner.

        Raises:
            NotReady: the settings require isolation that does not work here.
        """
        self._runner.look_ahead()

    @property
    def sandbox_in_use(self) -> Literal["bubblewrap", "off"]:
        """The isolation of the next process.

        Raises:
            NotReady: the settings require isolation that does not work here.
        """
        return self._runner.sandbox_in_use

    def sandbox_warning(self) -> str:
        """Return what processes can reach because the mode "auto" found no full sandbox.

        Return an empty text if it found one, or from the second call on.
        """
        return self._runner.sandbox_warning()

    def run_build(self, *, log: Path, timeout: float) -> ProcessResult:
        """Run the project's build script: `run_command` with `build_command`."""
        return self.run_command(self.build_command(), log=log, timeout=timeout)

    def build_command(self) -> tuple[str, ...]:
        """Return the command line of `run_build`.

        It runs the interpreter that the build script's first line names, or bash.

        Raises:
            NotReady: the build script is missing, is a link or not a text with LF line ends; or its
                interpreter is missing, hidden by the sandbox, or cannot start.
        """
        from code_commit_workspace.process.build_command import build_command

        return build_command(
            self.project,
            self.build_script,
            self.sandbox.writable,
            hiding=self._place_hiding,
        )

    def run_command(
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
        """Run `argv` in the root until it ends or `timeout` seconds pass.

        `env` is added to its environment. Nothing that it started keeps running. The end of
        `scope`, by default that of the workspace, ends it.

        Raises:
            NotReady: the root is gone, or isolation is required but does not work here.
            OSError: the log cannot be written.
            Interrupted: the workspace was closed meanwhile.
        """
        return self._runner.run(
            argv,
            log=log,
            timeout=timeout,
            stdin=stdin,
            env=env,
            isolation_required=isolation_required,
            scope=scope,
        )

    def start_process(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        isolation_required: bool = False,
    ) -> RunningProcess:
        """Start `argv` in the root and return it with pipes.

        It ends with the workspace at the latest. It gets the sandbox and the environment of
        `run_command`, plus `env`.

        Raises:
            NotReady: it cannot be started, or isolation is required but does not work here.
            Interrupted: the workspace was closed.
        """
        process = self._runner.start(argv, env=env or {}, isolation_required=isolation_required)
        self.started = True
        return process

    # --- state ------------------------------------------------------------------------------------

    def state(self, name: str) -> Path:
        """Return the folder `name` for state between runs; create it if missing.

        No process and no model sees it.

        Raises:
            NotReady: it cannot be created, or a link is in its place.
        """
        return make_state_folder(self.state_folder, name)

    @cached_property
    def _guard(self) -> Guard:
        from code_commit_workspace.guard.guard import Guard

        private = Protected(
            self.private_folder, f"anything in the {self.private_folder} folder", readable=False
        )
        return Guard(
            self.project,
            self.git,
            (private, *self.protected),
            redactor=self.redactor,
            is_too_large=self._is_too_large,
            max_files=self.max_files,
        )

    def _is_too_large(self, path: str, size: int) -> bool:
        if "store" in self.__dict__ and path in self.store.left_out:
            return True
        return size > StoreLimits.LEAST_FILE and size > self.store_limits().max_file

    def _place_hiding(self, path: str) -> str:
        # Not `self._runner.place_hiding` itself: that would create the runner, which is not needed
        # if bash runs the build.
        return self._runner.place_hiding(path)

    def _require_writes(self) -> None:
        if not self.writes:
            raise NotReady("this workspace was opened for reading only")
