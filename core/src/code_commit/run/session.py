"""Runs one workflow: opens the project and the run folder, calls the workflow, and records how it ended."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import Any, Protocol

from code_commit.config.keys import likely_keys
from code_commit.config.loading import Settings
from code_commit.imports import import_object
from code_commit.log import RunLog
from code_commit.models.resolution import Services, resolve
from code_commit.plugin_api import workflow as api
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, describe, exit_code_of, no_room
from code_commit.plugin_api.event import MessageLogged, PluginFailed
from code_commit.plugin_api.workflow import Outcome, Result
from code_commit.plugins.host import HOST, Plugin, PluginFailure, PluginHost
from code_commit.plugins.registry import Registry
from code_commit.run.assembly import Plan, assembled, open_log, open_project
from code_commit.run.project_run import ProjectRun
from code_commit_workspace import Redactor

_AFTER_RUN = "code_commit_after_run"
_AFTER_INTERRUPTION = 5.0  # seconds for a plugin after Ctrl-C
_SLICE = 0.2  # seconds; a signal that comes right before a wait is noticed after it
_ENDS_WITHIN = 2.0  # seconds for worker threads to log that their call or process was ended


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, without keys. `folder` is the run folder, `trace` the traceback of what ended the run early."""

    exit_code: ExitCode
    summary: str
    hint: str
    folder: Path
    trace: str = field(default="", repr=False)
    late_failures: tuple[PluginFailed, ...] = ()  # of sinks, after the last event


class Redacts(Protocol):
    """What hides live keys."""

    def text(self, text: str, /) -> str:
        """Return `text` without keys."""
        ...


def run_session(plan: Plan, host: PluginHost, registry: Registry) -> Ending:
    """Run the workflow of `plan`; whatever happens after the run folder is open becomes its ending.

    Raises:
        CodeCommitError: the run cannot begin, and there is no run folder.
    """
    roles = () if plan.workflow.roles is None else plan.workflow.roles or ("default",)
    for role in roles:
        resolve(registry, plan.settings, role)
    with ExitStack() as held:
        project = open_project(plan, registry, held)
        workspace = project.workspace
        services = Services(registry, plan.settings, project.keys, plan.environ, plan.root)
        log = open_log(plan, host, workspace, token=services.recorded_token(roles))
        held.enter_context(redirect_stdout(sys.stderr))  # a plugin's own prints are not results
        # The host's own sinks come first: they show also why the run does not get far.
        for plugin in (each for each in host.plugins if each.distribution == HOST):
            for _, sink in host.collect("code_commit_log_sinks", {"settings": lambda _: plan}, only=plugin):
                log.add_sink(HOST, sink, plugin=sink.name)
        with _record_ending(log, workspace.redactor, plan.plugin) as ending:
            _report_failures(host, log, plan.environ)
            if workspace.recovered:
                log.emit(MessageLogged(workspace.recovered, level="warning"))
            run = assembled(plan, host, registry, project, log, services)
            # An interactive run keeps its files: the person may continue it later.
            on_failure = "keep" if plan.workflow.interactive else plan.settings.on_failure
            with _clean_up(run, plan.settings, on_failure, ending), _ended_when_interrupted(run.end_what_waits):
                ending.result = _checked(import_object(plan.workflow.run)(run))
    return replace(ending.settle(log.folder), late_failures=ending.late_failures)


@dataclass(slots=True)
class _Outcome:
    """How a run goes so far: its result, or the error that ended it."""

    redactor: Redacts
    plugin: Plugin  # the workflow's
    result: Result | None = None
    error: BaseException | None = None
    late_failures: tuple[PluginFailed, ...] = ()

    @property
    def reached(self) -> bool:
        return self.result is not None and self.result.outcome is Outcome.REACHED

    @property
    def data(self) -> dict[str, Any]:
        """The data of `run.finished`."""
        hint = self._describe()[2]
        data = dict(self.result.data) if self.result and not self.error else {}
        return {**data, "hint": self.redactor.text(hint)} if hint else data

    def settle(self, folder: Path) -> Ending:
        clean = self.redactor.text
        exit_code, summary, hint = self._describe()
        trace = ""
        if self.error is not None:
            import traceback

            trace = clean("".join(traceback.format_exception(self.error)))
        return Ending(exit_code, clean(summary), clean(hint), folder, trace)

    def _describe(self) -> tuple[ExitCode, str, str]:
        match self.error:
            case None if self.result is not None:
                return ExitCode(self.result.outcome.value), self.result.summary, ""
            case CodeCommitError() as error:
                return exit_code_of(error), error.message, error.hint
            case KeyboardInterrupt():
                return ExitCode.INTERRUPTED, "interrupted", ""
            case BaseException() as error if full := no_room(error):
                return exit_code_of(full), full.message, full.hint
            case BaseException() as error:
                where = "" if self.plugin.distribution == HOST else f" in a workflow of {self.plugin.distribution}"
                return (
                    ExitCode.INTERNAL,
                    f"internal error{where}: {describe(error)}",
                    "this is a bug; --debug shows where",
                )
        return ExitCode.INTERNAL, "internal error: the workflow gave no result", "its plugin is at fault"


@contextmanager
def _record_ending(log: RunLog, redactor: Redacts, plugin: Plugin) -> Iterator[_Outcome]:
    """Write the last event, whatever happens in the block."""
    ending = _Outcome(redactor, plugin)
    try:
        yield ending
    except BaseException as error:  # noqa: BLE001 - becomes the run's ending
        ending.error = error
    finally:
        settled = ending.settle(log.folder)
        try:
            ending.late_failures = log.finish(settled.exit_code, settled.summary, ending.data)
        except KeyboardInterrupt:  # while a sink closes: the end that is logged stays the only one
            ending.late_failures = log.finish(settled.exit_code, settled.summary, ending.data)


@contextmanager
def _clean_up(run: ProjectRun, settings: Settings, on_failure: str, ending: _Outcome) -> Iterator[None]:
    """End what still runs in threads, restore the files if `--on-failure restore` asks for it, call `after_run`."""
    try:
        yield
    except BaseException as error:
        ending.error = error
        raise
    finally:
        run.end_what_waits()
        run.wait_until_over(_ENDS_WITHIN)
        if on_failure == "restore" and not ending.reached:
            run.restore_start("the goal was not reached")
        run.remember_end()
        settled = ending.settle(run.folder)
        _call_after_run(
            run,
            api.Ending(settled.exit_code.outcome, int(settled.exit_code), settled.summary, ending.data),
            settings.after_run_timeout_seconds,
        )


def _call_after_run(run: ProjectRun, ending: api.Ending, seconds: float) -> None:
    """Call the hook of each plugin, one after the other, each for at most `seconds`.

    Each call runs in a daemon thread, so that one that hangs cannot hold the run. Ctrl-C ends the wait, and skips the
    plugins that were not called yet.
    """
    if ending.exit_code == ExitCode.INTERRUPTED:
        seconds = min(seconds, _AFTER_INTERRUPTION)
    ending = replace(ending, data=run.workspace.redactor.json(ending.data))
    for plugin in [each for each in run.host.plugins if hasattr(each.code, _AFTER_RUN)]:
        thread = threading.Thread(
            target=copy_context().run, args=(_call, run, plugin, ending), name=f"after run {plugin.name}", daemon=True
        )
        try:
            thread.start()
            end = time.monotonic() + seconds
            while thread.is_alive() and time.monotonic() < end:
                thread.join(_SLICE)
        except KeyboardInterrupt:
            run.host.reject(plugin, _AFTER_RUN, "interrupted before it came back")
            return
        if thread.is_alive():
            run.host.reject(plugin, _AFTER_RUN, f"it did not come back within {seconds:g} s")


def _call(run: ProjectRun, plugin: Plugin, ending: api.Ending) -> None:
    arguments = {"settings": run.section_of, "run": lambda each: _run_of(run, each), "ending": lambda _: ending}
    try:
        for _, line in run.host.collect(_AFTER_RUN, arguments, only=plugin):
            if isinstance(line, str):
                run.emit(MessageLogged(line))
            else:
                run.host.reject(plugin, _AFTER_RUN, f"it must return a text or None, not {type(line).__name__}")
    except BaseException as error:  # noqa: BLE001 - `collect` lets a KeyboardInterrupt of the plugin pass
        run.host.reject(plugin, _AFTER_RUN, describe(error))


def _run_of(run: ProjectRun, plugin: Plugin) -> ProjectRun:
    """The run as `plugin` sees it afterwards: its own settings, state and secrets; the files are final."""
    return replace(
        run,
        state=run.workspace.state(plugin.name),
        settings=run.section_of(plugin),
        secret=run.secret_of(plugin),
        writes=False,
    )


def _checked(given: Any) -> Result:
    """Check the type: a plugin may return anything."""
    match given:
        case Result(outcome=Outcome(), summary=str(), data=Mapping()):
            return given
    raise TypeError(f"the workflow gave {shorten(repr(given), 200)} for a result")


def _report_failures(host: PluginHost, log: RunLog, environ: Mapping[str, str]) -> None:
    def tell(failure: PluginFailure) -> None:
        # Nobody knows which variable holds the key of a plugin that did not load.
        error = Redactor(likely_keys(environ)).text(failure.error)
        log.emit(PluginFailed(failure.plugin, failure.distribution, failure.stage, error))

    host.on_failure = tell
    for failure in host.failures:
        tell(failure)


@contextmanager
def _ended_when_interrupted(end: Callable[[], None]) -> Iterator[None]:
    """On Ctrl-C or SIGTERM, first call `end` in another thread, then raise as before.

    What is raised cannot get past a thread pool, which waits for its threads: somebody must end what they wait for.
    `end` may be called more than once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread alone
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_listen, args=(reader, end), name="code-commit interruption", daemon=True).start()
    # Python writes there before any handler runs. Otherwise a signal that comes just before a wait for a lock would be
    # seen only after the wait. An ignored signal is not written.
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        os.close(writer)


def _listen(reader: int, end: Callable[[], None]) -> None:
    while number := os.read(reader, 1):
        if number[0] in {signal.SIGINT, signal.SIGTERM}:
            end()
    os.close(reader)
