"""Run one workflow: open the project and the run folder, call it, and record its ending."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

from code_commit.config.loading import FLAG_OF_MODEL, ModelChoice
from code_commit.config.schema import RetentionSettings
from code_commit.imports import import_object
from code_commit.log.run_log import RunLog
from code_commit.models.resolution import Services, resolve
from code_commit.plugin_api.acceptance import Verdict
from code_commit.plugin_api.definitions import WorkflowDefinition
from code_commit.plugin_api.errors import (
    CodeCommitError,
    ExitCode,
    NotReady,
    UsageError,
    as_reported,
    exit_code_of,
)
from code_commit.plugin_api.event import MessageLogged, PluginFailed
from code_commit.plugin_api.host import HOST, Plugin, PluginFailure
from code_commit.plugin_api.run import Ending, Outcome, Result, RunSummary
from code_commit.plugin_api.run_json import cost_usd, describe_cost
from code_commit.plugin_api.running_code import RunningCode, running, running_apart, running_code
from code_commit.plugins.code import checked_result
from code_commit.plugins.host import AFTER_RUN, PluginHost
from code_commit.plugins.registry import Registry
from code_commit.run.acceptance import require_models
from code_commit.run.assembly import RunPlan, assemble_run, open_log, open_project
from code_commit.run.changes import ChangedFile
from code_commit.run.project_run import ProjectRun
from code_commit.terminal.diff_lines import diff_lines
from code_commit.terminal.streams import prints_aside
from code_commit.threads import Worker
from code_commit_workspace import STOP, ProcessResult
from code_commit_workspace.words import describe, join_paths, traceback_of

_DIFF = "`code-commit runs diff` shows what the run changed"
_UNDO = "`code-commit undo` reverts the changes"
_REDO = "`code-commit redo` brings the changes back"
_COMMIT = "--commit"  # the flag of workflows that can commit
_SHOWN_FILES = 20
_HANGS_SECONDS = 60.0  # without progress, after which the log names the plugin
_LATE_SECONDS = 2.0  # for other threads, when the run ends
_INTERRUPTED_SECONDS = 5.0  # for `after_run` of a plugin, after a signal


@dataclass(frozen=True, slots=True)
class RunEnding(RunSummary):
    """How a run ended, for the command line, without keys.

    `trace` is the traceback of the error, if any. `notes` say what acceptance checks found, why a
    build is red, and which files stay changed although the goal was not reached. `files` are the
    changed files of a run that reached its goal, a line each. `diff` has the first lines of the
    diff, for a terminal, and `more_lines` counts the others.
    """

    hint: str = ""
    trace: str = field(default="", repr=False)
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    diff: Sequence[str] = field(default=(), repr=False)
    more_lines: int = 0
    cost: str = ""  # of its calls, and the time, for people
    late_failures: Sequence[PluginFailed] = ()  # of sinks, after the last event


def run_session(plan: RunPlan, registry: Registry) -> RunEnding:
    """Run the workflow of `plan`. Once the run folder is open, every error becomes the ending.

    Raises:
        CodeCommitError: the run cannot start; there is no run folder.
        Interrupted: a signal came; there is no run folder.
    """
    STOP.begin_work()
    STOP.check()
    plugin_host = registry.plugin_host
    models = _models_of(plan)
    # An unknown model ends here, before the lock is taken.
    choices = [resolve(registry, plan.settings, *model)[0] for model in models]
    _require_no_other_choice(plan, choices)
    for role in plan.workflow.optional_roles:
        resolve(registry, plan.settings, role)
    endings: list[RunEnding] = []  # one, from the last event on
    with ExitStack() as stack:
        stack.enter_context(prints_aside())  # a plugin's prints are not results
        workspace, keys = open_project(plan, registry, stack)
        services = Services(
            registry,
            plan.settings,
            keys,
            redactor=workspace.redactor,
            environ=plan.environ,
            root=plan.root,
            scope=workspace.scope,
        )
        # Before the run folder exists: `replay/latest` must not be this run.
        tokens = [services.of(*model)[0].token for model in models]
        for role in plan.workflow.optional_roles:
            services.check(role)
        stack.enter_context(running_apart())  # from now on, the log names what hangs
        log = open_log(plan, plugin_host, workspace, token=next(filter(None, tokens), None))
        _add_host_sinks(plan, plugin_host, log)
        take_back = _UNDO
        if "runs" in registry.commands:
            take_back = f"{_DIFF}, {_UNDO}"
        state = _RunState(log, plan.plugin, plan.workflow, take_back, registry.hint_for)
        stack.enter_context(state.running.watch(state.warn_of, seconds=_HANGS_SECONDS))
        with _record_ending(state, endings, stack):
            _report_failures(plugin_host, log, plan.environ)
            for note in dict.fromkeys(choice.note for choice in choices if choice.note):
                log.emit(MessageLogged(note))
            if workspace.recovered:
                log.add_warning(workspace.recovered)
            run = assemble_run(plan, registry, workspace, keys, log, services)
            require_models(run)
            with _clean_up(run, state, stack):
                with running(f"the workflow {plan.workflow.name}", plan.plugin.distribution):
                    value = import_object(plan.workflow.run)(run)
                state.result = checked_result(
                    value,
                    Result,
                    outcome=Outcome,
                    summary=str,
                    data=Mapping,
                    hint=str,
                    verdict=(Verdict, NoneType),
                )
    plugin_host.traces += [*workspace.rule_traces, *log.sink_traces]
    return endings[0]


def _models_of(plan: RunPlan) -> list[tuple[str, str | None]]:
    """Return role and name of the models that every run of the workflow may call.

    The settings choose a model without a name.
    """
    roles = plan.workflow.roles
    if roles is None:
        return []
    models: list[tuple[str, str | None]] = [(role, None) for role in roles if role != "default"]
    if plan.models:
        models += [("default", name) for name in plan.models]
    elif not roles or "default" in roles:
        models.append(("default", None))
    return models


def _require_no_other_choice(plan: RunPlan, choices: Sequence[ModelChoice]) -> None:
    """Check that `--model` has an effect.

    Raises:
        UsageError: the run calls other models, by their names.
    """
    is_set = plan.settings.choose("default").reason == FLAG_OF_MODEL
    if plan.models and is_set and FLAG_OF_MODEL not in [choice.reason for choice in choices]:
        raise UsageError(
            f"--model has no effect: this run calls {join_paths(plan.models)}",
            hint="leave out --model, or the names of these models",
        )


def _add_host_sinks(plan: RunPlan, plugin_host: PluginHost, log: RunLog) -> None:
    """Add the sinks of the host. They come first, and also show errors of the next steps."""
    arguments = {"plan": lambda _plugin: plan}
    for plugin in [plugin for plugin in plugin_host.plugins if plugin.distribution == HOST]:
        for _, sink in plugin_host.collect("code_commit_log_sinks", arguments, only=plugin):
            log.add_sink(HOST, sink, plugin=sink.name)


@dataclass(slots=True)
class _RunState:
    """The result of the workflow, or the error that ended it."""

    log: RunLog
    plugin: Plugin  # the one that offers the workflow
    workflow: WorkflowDefinition
    take_back: str  # the hint about changed files
    hint_for: Callable[[str], str]  # of the registry
    # Visible files that differ from the start, if the goal was not reached.
    changed: tuple[str, ...] = ()
    # The goal was reached with changed files, and no person was asked about them.
    may_undo: bool = False
    may_redo: bool = False  # the changes were moved back
    notes: tuple[str, ...] = ()  # for people
    files: tuple[ChangedFile, ...] = ()
    diff: str = ""  # to show at the end
    result: Result | None = None
    error: BaseException | None = None
    reported: CodeCommitError | None = None  # what people are told about `error`
    run: ProjectRun | None = None
    running: RunningCode = field(default_factory=running_code)

    def warn_of(self, part: str) -> None:
        """Log that a part of a plugin makes no progress."""
        self.log.add_warning(f"no progress for {_HANGS_SECONDS:g} s in {part}")

    @contextmanager
    def keep_error(self) -> Iterator[None]:
        """Keep the error of the block as the run's; log it instead if there was one before."""
        try:
            yield
        except BaseException as error:  # noqa: BLE001 - becomes the run's ending
            if self.error is not None:
                self.log.add_warning(f"while the run ended: {describe(error)}")
                return
            where = ""
            if self.plugin.distribution != HOST:
                where = f" in a workflow of {self.plugin.distribution}"
            self.error = error
            self.reported = as_reported(error, where)  # now: a later signal changes nothing

    @property
    def reached(self) -> bool:
        return (
            self.error is None
            and self.result is not None
            and self.result.outcome is Outcome.REACHED
        )

    def note_changes(self) -> None:
        """Unless the goal was reached, note which files stay changed, and why a build is red."""
        if self.run is None or self.reached or self.changed:
            return
        self.changed = self.run.changes.paths()
        notes = []
        build = self.run.last_build
        if build and not build.passed:
            notes.append(_describe_output(build, self.run.root))
        if self.changed:
            texts = {file.path: str(file) for file in self.files}
            lines = _first_lines([texts.get(path, path) for path in self.changed])
            notes.append("\n".join(["files stay changed:", *lines]))
        self.notes = tuple(notes)

    @property
    def data(self) -> dict[str, Any]:
        """Return the data of `run.finished`."""
        data: dict[str, Any] = {}
        if self.result and not self.error:
            data |= self.result.data
            if self.result.verdict:
                data["acceptance"] = self.result.verdict.data
        if self.changed:
            data["changed"] = list(self.changed)
        hint = self.log.redactor.text(self._hint())
        if hint and not self.reached:
            data["hint"] = hint
        return data

    def _hint(self) -> str:
        hint = self.hint_for(self._describe()[2])
        if self.reached:
            return hint or self._take_back_or_commit()
        go_on = _REDO
        if not self.may_redo:
            go_on = self._go_on(has_changed=bool(self.changed), said=hint)
        parts = dict.fromkeys((hint, go_on))  # the workflow may say the same
        return "; ".join(part for part in parts if part)

    def _take_back_or_commit(self) -> str:
        """Return how to take back or commit a change that nobody was asked about."""
        if not self.may_undo:
            return ""
        if self._could_commit:
            return f"{self.take_back}; with {_COMMIT}, a run commits them"
        return self.take_back

    def _go_on(self, *, has_changed: bool, said: str = "") -> str:
        """Return how to continue or to take back a run that did not reach its goal.

        `said` is a hint that may have told it already.
        """
        continues = self.workflow.continues
        parts = []
        has_called: bool = self.log.document.fields["calls"]["started"] > 0
        if continues and continues not in said and (has_changed or has_called):
            parts.append(continues)
        if has_changed and not (continues and self.workflow.interactive):
            parts.append(self.take_back)
        return ", ".join(parts)

    @property
    def _could_commit(self) -> bool:
        """Whether the workflow can commit; a run that did has a hint of its own."""
        if self.run is None:
            return False
        plan = self.run.plan
        return any(_COMMIT in flag.names for flag in plan.workflow.flags)

    def ending(self) -> RunEnding:
        """Return how the run ended, without keys."""
        exit_code, summary, _ = self._describe()
        trace = ""
        if self.error:
            trace = traceback_of(self.error)
        without_keys = self.log.redactor.text
        files: tuple[str, ...] = ()
        if self.may_undo:
            files = tuple(map(without_keys, _first_lines(list(map(str, self.files)))))
        diff: Sequence[str] = ()
        more_lines = 0
        if self.run and self.diff:
            diff, more_lines = diff_lines(without_keys(self.diff), self.run.plan.diff_lines)
        return RunEnding(
            self.log.folder,
            exit_code,
            summary=without_keys(summary),
            hint=without_keys(self._hint()),
            trace=without_keys(trace),
            notes=(*self._verdict_lines(), *self.notes),
            files=files,
            diff=diff,
            more_lines=more_lines,
            cost=describe_cost(self.log.document.fields),
            late_failures=self.log.late_failures,
        )

    def _verdict_lines(self) -> tuple[str, ...]:
        """Return what the acceptance checks say to people: their notes, and their facts."""
        if self.error or not self.result or not self.result.verdict:
            return ()
        lines = [self.log.redactor.text(note) for note in self.result.verdict.notes]
        if trailers := self.result.verdict.trailers:
            facts = "; ".join(f"{name}: {text}" for name, text in trailers.items())
            lines.append(self.log.redactor.text(facts))
        return tuple(lines)

    def _describe(self) -> tuple[ExitCode, str, str]:
        """Return the exit code, the summary and the hint."""
        if self.reported is None:
            result: Any = self.result  # there is one where there is no error
            return ExitCode(result.outcome.value), result.summary, result.hint
        return exit_code_of(self.reported), self.reported.message, self.reported.hint

    def say_last_words(self, place: str) -> None:
        """Log the end of a run that did not end by itself after a signal."""
        summary = f"interrupted, at {place}"
        if part := self.running.describe():
            summary += f", in {part}"
        lines = f"error: {summary}\n"
        data = {}
        if self.run is not None and self.run.changes.has_begun:  # it may have written
            data["hint"] = self._go_on(has_changed=True)
            lines += f"hint: {data['hint']}\n"
        # First, unless nobody reads it: the last event may wait for the reader of stdout.
        if select.select([], [2], [], 0)[1]:
            os.write(2, lines.encode("utf-8", "replace"))
        self.log.finish(ExitCode.INTERRUPTED, summary, data)


def _first_lines(files: Sequence[str]) -> Sequence[str]:
    """Return the lines of the first files, and one that counts the others."""
    if len(files) <= _SHOWN_FILES:
        return files
    return [*files[:_SHOWN_FILES], f"and {len(files) - _SHOWN_FILES} more"]


def _describe_output(build: ProcessResult, root: Path) -> str:
    last_lines = build.last_lines()
    if not last_lines:
        return "the build printed nothing"
    return f"the last lines of {build.log.relative_to(root)}:\n{last_lines}"


@contextmanager
def _record_ending(state: _RunState, endings: list[RunEnding], stack: ExitStack) -> Iterator[None]:
    """Log the last event, also if the block raises. A signal that comes later changes nothing."""
    STOP.last_words = state.say_last_words
    with state.keep_error():
        yield
    stack.enter_context(STOP.hold())
    with state.keep_error():
        state.note_changes()  # again: the block may have ended before the clean-up
    state.log.document.price()
    ending = state.ending()
    endings.append(ending)
    state.log.finish(
        ending.exit_code,
        ending.summary,
        state.data,
        files=[asdict(file) for file in state.files],
        cost_usd=cost_usd(state.log.document.fields),
    )
    STOP.decide(ending.exit_code)


@contextmanager
def _clean_up(run: ProjectRun, state: _RunState, stack: ExitStack) -> Iterator[None]:
    """Clean up after the block.

    End running calls and processes, restore the files for `--on-failure restore`, and call
    `after_run`. An error in one step does not skip the next. The first error is the run's. No
    signal ends a step: the workflow has decided.
    """
    state.run = run
    interactive = run.plan.workflow.interactive
    with state.keep_error():
        yield
    stack.enter_context(STOP.hold())
    with state.keep_error():
        run.workspace.scope.end()
        # Other threads log the ends of their calls and processes.
        run.workspace.scope.wait_until_over(_LATE_SECONDS)
    with state.keep_error():
        # An interactive run keeps its files: the user may continue it later.
        if run.plan.settings.on_failure == "restore" and not interactive and not state.reached:
            state.may_redo = run.changes.restore("the goal was not reached")
    with state.keep_error():
        run.changes.finish()
        state.files = run.changes.changed_files()
        state.may_undo = state.reached and not interactive and bool(state.files)
        if run.plan.diff_lines:
            with suppress(NotReady):  # it is too large
                state.diff = run.changes.diff()
        state.note_changes()
    with state.keep_error():
        run.keep_whole_diff()
    with state.keep_error():
        _call_after_run(run, state, run.plan.settings.after_run_timeout_seconds)
    if run.plan.workflow.writes:  # the run holds the project's lock
        _delete_old_runs(run)


def _delete_old_runs(run: ProjectRun) -> None:
    """Delete the runs that the setting `retention` does not keep; a failure is a warning."""
    limits = run.plan.settings.retention
    if STOP.is_set or limits == RetentionSettings():
        return
    from code_commit.plugin_api.retention import Retention, prune_runs

    retention = Retention(limits.runs, limits.days, limits.bytes)
    try:
        prune_runs(run.workspace, retention, but=run.folder.name)
    except (CodeCommitError, OSError) as error:
        run.log.add_warning(f"cannot delete earlier runs: {describe(error)}")


def _call_after_run(run: ProjectRun, state: _RunState, seconds: float) -> None:
    """Call the hook of each plugin in turn, each for at most `seconds`.

    Each call runs in a daemon thread, so that a hanging one does not block the run. A signal ends
    the wait and skips the remaining plugins.
    """
    run_ending = state.ending()
    exit_code = run_ending.exit_code
    data = run.log.redactor.json(state.data)
    ending = Ending(exit_code.outcome, int(exit_code), run_ending.summary, data)
    was_interrupted = exit_code is ExitCode.INTERRUPTED
    if was_interrupted:  # also by a plugin that raised KeyboardInterrupt
        seconds = min(seconds, _INTERRUPTED_SECONDS)
    for plugin in run.plugin_host.plugins:
        if not hasattr(plugin.code, AFTER_RUN):
            continue
        if STOP.is_set and not was_interrupted:
            return
        call = partial(copy_context().run, _call, run, plugin, ending)
        try:
            Worker(f"after run {plugin.name}").call(call, seconds=seconds)
        except TimeoutError as error:
            run.plugin_host.reject(plugin, AFTER_RUN, str(error))


def _call(run: ProjectRun, plugin: Plugin, ending: Ending) -> None:
    arguments = {**run.hook_arguments, "run": run.after, "ending": lambda _plugin: ending}
    run.log.sender.set((plugin.name, plugin.distribution))  # in the context of this thread
    try:
        for _, line in run.plugin_host.collect(AFTER_RUN, arguments, only=plugin):
            if isinstance(line, str):
                run.emit(MessageLogged(line))
            else:
                error_text = f"it must return a string or None, not {type(line).__name__}"
                run.plugin_host.reject(plugin, AFTER_RUN, error_text)
    except BaseException as error:  # noqa: BLE001 - `collect` passes a plugin's KeyboardInterrupt on
        run.plugin_host.reject(plugin, AFTER_RUN, describe(error))


def _report_failures(plugin_host: PluginHost, log: RunLog, environ: Mapping[str, str]) -> None:
    from code_commit_workspace import Redactor

    def report(failure: PluginFailure) -> None:
        # A plugin that did not load declares no variables: redact whatever looks like a key.
        redactor = Redactor()
        redactor.add_likely(environ)
        event = PluginFailed(
            plugin=failure.plugin,
            distribution=failure.distribution,
            stage=failure.stage,
            error=redactor.text(failure.error),
        )
        log.emit(event)

    plugin_host.on_failure = report
    for failure in plugin_host.failures:
        report(failure)
