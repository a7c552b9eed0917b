"""The host's `Run`: each method calls the part that does the work, and logs what happened."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from code_commit.log.run_log import RunLog, numbered
from code_commit.models.calls_at_once import ConcurrentCalls
from code_commit.models.chain import Models
from code_commit.plugin_api import event as events
from code_commit.plugin_api.errors import NotReady, ResponseRefused
from code_commit.plugin_api.host import Plugin
from code_commit.plugin_api.process_end import is_build
from code_commit.plugin_api.run_files import find_run
from code_commit.plugin_api.running_code import host_works
from code_commit.plugins.host import PluginHost
from code_commit.run.acceptance import Checks, accept
from code_commit.run.baseline import LABEL as BASELINE
from code_commit.run.baseline import Baseline
from code_commit.run.changes import Changes
from code_commit.run.reply_printer import ReplyPrinter
from code_commit.terminal.answer_history import AnswerHistory
from code_commit.terminal.answers import read_answer
from code_commit.terminal.screen import can_repaint, may_color, terminal_columns
from code_commit.terminal.streams import write_stdout
from code_commit_workspace import (
    STOP,
    Change,
    ChangeSetRefused,
    Conflict,
    PathRule,
    ProcessResult,
    Refusal,
    Scope,
    Tree,
    Workspace,
)
from code_commit_workspace.errors import Interrupted
from code_commit_workspace.words import printable

if TYPE_CHECKING:
    from code_commit.plugin_api.acceptance import Submission, Verdict
    from code_commit.plugin_api.run import Model, Trial, WorkDone
    from code_commit.run.assembly import RunPlan
    from code_commit_workspace import Moved


@dataclass(eq=False, repr=False)
class ProjectRun:
    """Implements `Run`, and has more for the session.

    `rules` are the path rules of plugins, each with its distribution; `checks` are their acceptance
    checks. `hook_arguments` makes the
    arguments of hooks for each plugin: its `settings` and its `secret`. `keeps_diffs` is whether
    plugins have log sinks, which show diffs. `writes` is whether this run may change the project,
    `commands` are the installed ones.
    """

    plan: RunPlan
    workspace: Workspace
    log: RunLog
    models: Models
    plugin_host: PluginHost
    rules: Sequence[tuple[str, PathRule]]
    checks: Checks
    hook_arguments: Mapping[str, Callable[[Plugin], Any]]
    keeps_diffs: bool
    commands: Collection[str] = ()
    last_build: ProcessResult | None = None

    def __post_init__(self) -> None:
        self.root = self.plan.root
        self.folder = self.log.folder
        self.state = self.workspace.state(self.plan.plugin.name)
        self.token = self.log.token
        self.options = self.plan.options
        self.settings = self.plan.section
        self.flags = self.plan.flags
        self.tree: Tree = self.workspace.tree
        self.build_timeout: float = self.plan.settings.build.timeout_seconds
        self.max_files = self.plan.settings.max_files
        self.writes = self.plan.workflow.writes
        self.secret = self.hook_arguments["secret"](self.plan.plugin)
        self.files = self.workspace.files
        self.may_read = self.workspace.may_read
        self.diff = self.workspace.diff
        self.build_command = self.workspace.build_command
        self.find_run = partial(find_run, self.root)
        self.start_process = partial(self.workspace.start_process, isolation_required=True)
        self.emit = host_works()(self.log.emit)
        self.span = self.log.span
        self.redacted = self.log.redactor.text
        self.changes = Changes(self.workspace, self.log)
        self._baseline = Baseline(self)

    def after(self, plugin: Plugin) -> ProjectRun:
        """Return the finished run for `after_run` of `plugin`, read-only and with its settings."""
        run = self.of(plugin)
        run.writes = False
        return run

    def of(self, plugin: Plugin) -> ProjectRun:
        """Return this run with the state, the settings and the secrets of `plugin`."""
        run = copy(self)
        run.state = self.workspace.state(plugin.name)
        run.settings = self.hook_arguments["settings"](plugin)
        run.secret = self.hook_arguments["secret"](plugin)
        return run

    @contextmanager
    def sent_by(self, plugin: Plugin) -> Iterator[None]:
        """Name `plugin` in errors of the events that the block emits."""
        token = self.log.sender.set((plugin.name, plugin.distribution))
        try:
            yield
        finally:
            self.log.sender.reset(token)

    @property
    def repository_root(self) -> Path:
        """The root of the git work tree, which may be above `root`."""
        return self.workspace.git.top()

    def model(self, role: str = "default", name: str | None = None) -> Model:
        """Return the model `name`, or the one that the settings give to `role`.

        Raises:
            UsageError: there is no model of this name.
            NotReady: the workflow's definition does not name this role, or the model does not
                exist.
        """
        workflow = self.plan.workflow
        roles = {"default", *(workflow.roles or ()), *workflow.optional_roles}
        if workflow.roles is None or role not in roles:
            raise NotReady(
                f"{workflow.name} asked for a model of the role {role!r}, "
                "which its definition does not declare",
                hint="this is a bug in its plugin",
            )
        if role == "default" and name is None and self.plan.models:
            name = self.plan.models[0]
        return self.models.model(role, name)

    @contextmanager
    def calls_at_once(self) -> Iterator[ConcurrentCalls]:
        """Make several calls at once; cancel those under way at the end of the block."""
        with self.workspace.scope.child() as scope:
            yield ConcurrentCalls(self.log, scope)

    def settings_of(self, plugin: str) -> Any:
        """Return the validated section of another plugin, or None if it is not loaded."""
        for loaded_plugin in self.plugin_host.plugins:
            if loaded_plugin.name == plugin:
                return self.hook_arguments["settings"](loaded_plugin)
        return None

    @host_works()
    def check(self, changes: Sequence[Change]) -> tuple[Refusal, ...]:
        """Ask every path rule about `changes`."""
        STOP.check()
        return self.workspace.check(changes, self.rules, warn=self.log.add_warning)

    @host_works()
    def apply(
        self, changes: Sequence[Change], *, shown: Mapping[str, bytes | None] | None = None
    ) -> Collection[str]:
        """Check `changes` again, then write all of them or none; return the merged paths.

        Raises:
            ResponseRefused: a path is not allowed.
            Conflict: a person changed a file at the same places.
            NotReady: a write failed; or a person changed a file that a recorded answer is about.
                The tree is as it was.
        """
        self._require_writes()
        STOP.check()
        files = self.changes.files
        if recorded := self.plan.shown:
            shown = {change.path: recorded(change) for change in changes}
        with files.lock, STOP.hold():
            try:
                moved = self.workspace.apply(changes, self.rules, run=files, shown=shown)
            except ChangeSetRefused as error:
                raise ResponseRefused(error.message) from error
            except Conflict as conflict:
                if not recorded:
                    raise
                hint = "move these changes away, then apply the same run again; or start a new run"
                raise NotReady(conflict.message, hint=hint) from conflict
            return self._report_applied(changes, moved)

    def build(
        self,
        *,
        label: str = "build",
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> ProcessResult:
        """Run `build.sh` under a numbered name."""
        self.last_build = None
        name = numbered(self.models.log.last_number, f"{label}.txt")
        self.last_build = self._build(name, environment=environment)
        return self.last_build

    def baseline(self) -> AbstractContextManager[None]:
        """Build the untouched files while the block waits for the first call."""
        return self._baseline.while_waiting()

    @property
    def baseline_build(self) -> ProcessResult | None:
        """The build of the files from before the run; None if it is not known to be red."""
        return self._baseline.build

    def build_baseline(self, scope: Scope | None) -> ProcessResult:
        """Build the untouched files; the end of `scope` ends the build."""
        return self._build(f"{BASELINE}.txt", scope=scope)

    def _build(
        self,
        name: str,
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        scope: Scope | None = None,
    ) -> ProcessResult:
        if self.writes:
            self.changes.files.begin()
        build = self._process(
            self.build_command(),
            name,
            timeout=self.build_timeout,
            environment=environment,
            scope=scope,
        )
        if self.writes:
            has_changed_files = self.changes.look_after_process()
            if not (has_changed_files or environment):
                self.changes.note_build(build)
        return build

    def accept(self, submission: Submission) -> Verdict:
        """Ask the acceptance checks whether the changes stand."""
        self._require_writes()
        return accept(self, submission)

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return the files at `paths` as they were before the run."""
        self._require_writes()
        return self.changes.originals(paths)

    def versions(self, path: str) -> Iterator[bytes | None]:
        """Yield the versions of a file that this run knows, the latest first."""
        yield from self.changes.files.versions(path)

    def moment(self) -> str:
        """Return the present moment, for `changes_since`."""
        self._require_writes()
        return self.changes.files.moment()

    def changes_since(self, *moments: str) -> WorkDone:
        """Return what runs changed, each since one of `moments`."""
        self._require_writes()
        return self.changes.files.since(moments)

    @contextmanager
    def trial(self, *, show: Mapping[str, bytes | None] | None = None) -> Iterator[Trial]:
        """Move back what the run writes in the block, unless `keep` of the trial is called."""
        self._require_writes()
        last_build = self.last_build
        with self.changes.trial(show or {}) as trial:
            yield trial
        if not trial.is_kept:
            self.last_build = last_build

    def execute(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        label: str = "command",
    ) -> ProcessResult:
        """Run a command that the model chose.

        Raises:
            NotReady: it would run without isolation, which the user did not allow.
        """
        written = self.changes.command() if self.writes else nullcontext()
        with written:
            name = numbered(self.models.log.last_number, f"{label}.txt")
            return self._process(argv, name, timeout=timeout, stdin=stdin, isolation_required=True)

    @contextmanager
    def limit_writes(self, paths: Sequence[str]) -> Iterator[Collection[str]]:
        """Move back what commands in the block change in files other than `paths`."""
        self._require_writes()
        with self.changes.limit(paths) as paths_moved_back:
            yield paths_moved_back

    @host_works()
    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        hooks: bool = False,
        most: int | None = None,
    ) -> bytes:
        """Run git in the root while holding the tree lock."""
        reads_only = not self.plan.workflow.writes
        with self._tree_lock():
            if self.writes and (hooks or self.workspace.git.may_write_files(args)):
                self.changes.expect_more()
            return self.workspace.git.run(
                args,
                stdin=stdin,
                check=check,
                hooks=hooks,
                reads_only=reads_only,
                most=most,
            )

    @host_works()
    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] = (),
        draft: str | None = None,
    ) -> str | None:
        """Ask the user a question; return None at the end of input.

        With `draft`, the answer may have several lines.

        Raises:
            NotReady: this workflow is not interactive.
        """
        if not self.plan.workflow.interactive:
            raise NotReady(
                "a workflow that is not interactive asked a question",
                hint="this is a bug in its plugin",
            )
        self.emit(events.QuestionAsked(question, tuple(choices)))
        history = None
        if draft is not None:
            folder = self.workspace.state("answers")
            history = AnswerHistory(folder, self.redacted, choices)
        answer = read_answer(
            lambda: self.say(question),
            self.root,
            draft,
            screen=None if self.plan.stdout_taken else self.plan.stdout,
            history=history,
        )
        self.emit(events.QuestionAnswered(answer))
        return answer

    def say(self, text: str, style: str = "") -> None:
        """Write `text` to stdout without keys, escaped and in `style` if stdout is a terminal.

        A closed pipe, as after `head`, is no error.

        Raises:
            NotReady: stdout cannot be written to.
        """
        STOP.check()
        if self.plan.stdout_taken:
            return
        if not text.endswith("\n"):
            text += "\n"
        self._print(text, style)

    @contextmanager
    def show_replies(self, speaker: str = "") -> Iterator[None]:
        """Print the text of the replies in the block on stdout, as it arrives if they stream."""
        print_text = self.models.log.print_text
        make = partial(self._reply_printer, speaker)
        token = print_text.set(None if self.plan.stdout_taken else make)
        try:
            yield
        finally:
            print_text.reset(token)

    def _reply_printer(self, speaker: str) -> ReplyPrinter:
        columns = 0
        if can_repaint(self.plan.stdout, self.plan.environ):
            columns = terminal_columns(self.plan.environ)
        return ReplyPrinter(self._write, self._cleaned, speaker=speaker, columns=columns)

    def _print(self, text: str, style: str = "") -> None:
        text = self._cleaned(text)
        if style and may_color(self.plan.stdout, self.plan.environ):
            from rich.style import Style

            text = Style.parse(style).render(text)
        self._write(text)

    def _cleaned(self, text: str) -> str:
        text = self.redacted(text)
        return printable(text) if self.plan.stdout.isatty() else text

    @host_works()
    def _write(self, text: str) -> None:
        with suppress(BrokenPipeError):
            write_stdout(self.plan.stdout, text)

    def keep(self, name: str, content: str | bytes) -> Path:
        """Write a file into the run folder, without keys."""
        return self.log.write(self.log.reserve(name), content)

    def keep_input(self, name: str, content: str | bytes) -> None:
        """Write a file into the run folder after the next prompt, which has this text."""
        self.log.keep_input(self.log.reserve(name), content)

    def append(self, file: Path, content: str | bytes) -> None:
        """Append to a file that `keep` wrote, without keys."""
        self.log.append(file.name, content)

    def collect(self, hook: str, *, required: bool = False) -> Sequence[tuple[str, Any]]:
        """Call a hook that a plugin declared; return (distribution, item) for each item.

        Raises:
            NotReady: an implementation failed, and all of them are `required`.
        """
        arguments = {"settings": self.hook_arguments["settings"]}
        items = [
            (plugin.distribution, value)
            for plugin, value in self.plugin_host.collect(hook, arguments)
        ]
        if required:
            self.plugin_host.require_hook(hook)
        return items

    # --- for the session --------------------------------------------------------------------

    def keep_whole_diff(self) -> None:
        """Write the diff of the whole run for log sinks."""
        if self.keeps_diffs:
            self._keep_diff("all-changes.diff", self.changes.diff)

    def _report_applied(self, changes: Sequence[Change], moved: Moved) -> Collection[str]:
        """Log the applied changes; return the files in which a person's changes stay, too."""
        contents = {change.path: change.content for change in changes}
        differences = moved.differences
        with_a_persons = {
            path
            for path, (_, after) in moved.versions.items()
            if after is not None and after.content != contents[path]
        }
        merged = tuple(path for path in differences if path in with_a_persons)
        written = tuple(
            path
            for path, content in contents.items()
            if content is not None and (path in differences or path not in with_a_persons)
        )
        deleted = tuple(path for path in differences if contents[path] is None)
        diff = None
        if self.keeps_diffs and differences:
            name = numbered(self.models.log.last_number, "changes.diff")
            diff = self._keep_diff(name, self.changes.latest_diff)
        if written or deleted:
            self.emit(events.ChangesApplied(written, deleted, diff=diff, merged=merged))
        for text in self.workspace.executed(written):
            self.log.add_warning(text)
        return with_a_persons

    def _tree_lock(self) -> AbstractContextManager[object]:
        """Return the lock of the files; a workflow that does not write needs none."""
        return self.changes.files.lock if self.plan.workflow.writes else nullcontext()

    def _keep_diff(self, name: str, make: Callable[[], str]) -> str | None:
        """Write a diff, if there is one, and return its name; if that fails, add a warning."""
        try:
            if text := make():
                return self.keep(name, text).name
        except NotReady as error:
            self.log.add_warning(f"{name} is not in the log: {error.message}")
        return None

    def _require_writes(self) -> None:
        if not self.writes:
            raise NotReady(
                "only a workflow that writes can change the project, and only while it runs",
                hint="this is a bug in the plugin that tried",
            )

    @host_works()
    def _process(
        self,
        argv: Sequence[str],
        name: str,
        *,
        timeout: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] = MappingProxyType({}),
        isolation_required: bool = False,
        scope: Scope | None = None,
    ) -> ProcessResult:
        """Run a process, and log it. The end of `scope` ends it."""
        log = self.folder / self.log.reserve(name)
        sandbox = self.workspace.sandbox_in_use
        if warning := self.workspace.sandbox_warning():
            self.log.add_warning(warning)
        # The integrity check of an unisolated process covers the host's own state: nothing else may
        # write it meanwhile.
        lock = self._tree_lock() if sandbox == "off" else nullcontext()
        with self.log.nested(), lock:
            self.emit(events.ProcessStarted(tuple(argv), sandbox, log=log.name))
            started = time.monotonic()
            self.changes.expect_more()
            ending = ""
            try:
                result = self.workspace.run_command(
                    argv,
                    log=log,
                    timeout=timeout,
                    stdin=stdin,
                    env=environment,
                    isolation_required=isolation_required,
                    scope=scope,
                )
            except Interrupted:
                if scope is None or STOP.is_set:
                    raise
                result = ProcessResult(None, b"", log)
                ending = "was ended, because the answer came first"
            seconds = round(time.monotonic() - started, 3)
            last_lines = ""
            if is_build(argv) and not result.passed:
                last_lines = result.last_lines()
            self.emit(
                events.ProcessFinished(
                    argv=tuple(argv),
                    exit_code=result.exit_code,
                    seconds=seconds,
                    timed_out=result.timed_out,
                    tampered=result.tampered,
                    log=log.name,
                    last_lines=last_lines,
                    ending=ending or result.ending,
                )
            )
            if result.advice:
                self.log.add_warning(result.advice)
        return result
