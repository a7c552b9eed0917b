"""Calls the hook `after_run`: what plugins do when the files are final."""

from __future__ import annotations

import threading
import time
from contextvars import copy_context
from dataclasses import replace

from code_commit.plugin_api.errors import ExitCode, describe
from code_commit.plugin_api.event import MessageLogged
from code_commit.plugin_api.workflow import Ending
from code_commit.plugins.host import Plugin
from code_commit.run.project_run import ProjectRun

HOOK = "code_commit_after_run"
_AFTER_INTERRUPTION = 5.0  # seconds: the user waits for the end
_SLICE = 0.2  # seconds; a signal that comes right before a wait is noticed after it


def call_after_run(run: ProjectRun, ending: Ending, seconds: float) -> None:
    """Call the hook of each plugin, one after the other, each for at most `seconds`.

    Each call runs in a daemon thread, so that one that hangs cannot hold the run. Ctrl-C ends the wait, and skips the
    plugins that were not called yet.
    """
    if ending.exit_code == ExitCode.INTERRUPTED:
        seconds = min(seconds, _AFTER_INTERRUPTION)
    ending = replace(ending, data=run.workspace.redactor.json(ending.data))
    for plugin in [each for each in run.host.plugins if hasattr(each.code, HOOK)]:
        thread = threading.Thread(
            target=copy_context().run, args=(_call, run, plugin, ending), name=f"after run {plugin.name}", daemon=True
        )
        try:
            thread.start()
            end = time.monotonic() + seconds
            while thread.is_alive() and time.monotonic() < end:
                thread.join(_SLICE)
        except KeyboardInterrupt:
            run.host.reject(plugin, HOOK, "interrupted before it came back")
            return
        if thread.is_alive():
            run.host.reject(plugin, HOOK, f"it did not come back within {seconds:g} s")


def _call(run: ProjectRun, plugin: Plugin, ending: Ending) -> None:
    arguments = {"settings": run.section_of, "run": lambda each: _run_of(run, each), "ending": lambda _: ending}
    try:
        for _, line in run.host.collect(HOOK, arguments, only=plugin):
            if isinstance(line, str):
                run.emit(MessageLogged(line))
            else:
                run.host.reject(plugin, HOOK, f"it must return a text or None, not {type(line).__name__}")
    except BaseException as error:  # noqa: BLE001 - `collect` lets a KeyboardInterrupt of the plugin pass
        run.host.reject(plugin, HOOK, describe(error))


def _run_of(run: ProjectRun, plugin: Plugin) -> ProjectRun:
    """The run as `plugin` sees it afterwards: its own settings, state and secrets; the files are final."""
    return replace(
        run,
        state=run.workspace.state(plugin.name),
        settings=run.section_of(plugin),
        secret=run.secret_of(plugin),
        writes=False,
    )
