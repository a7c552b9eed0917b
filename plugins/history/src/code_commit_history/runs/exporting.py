"""`code-commit runs export --sink NAME`: an earlier run, told to a log sink as if it happened now."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from code_commit.cli.arguments import RESERVED
from code_commit.cli.errors import print_error
from code_commit.cli.tables import print_document, print_line
from code_commit.config.keys import KeyStore
from code_commit.config.loading import load_settings
from code_commit.log import find_run, list_runs, numbered, read_records
from code_commit.log.folder import EVENTS
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, NotReady, UsageError, describe
from code_commit.plugin_api.event import LogSink, Record
from code_commit.plugins.host import Plugin, PluginHost
from code_commit.plugins.registry import Registry
from code_commit.run.assembly import plugin_secret, settings_model
from code_commit.spelling import did_you_mean
from code_commit_history.past_runs import Step, read_story, steps_of
from code_commit_history.runs.project import checkpointed, redactor_of
from code_commit_workspace import Redactor, check_private_folder

_SINKS, _NEXT = "code_commit_log_sinks", "next_run"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def export(arguments: argparse.Namespace) -> int:
    """Feed the records of runs to the sinks of one plugin: all to the same ones where they can tell runs apart.

    Raises:
        UsageError: there is no such plugin.
        NotReady: there is no such run, or the plugin gives no sink.
    """
    root = Path.cwd().resolve()
    host = PluginHost()
    plugin = _plugin(host, arguments.sink)
    check_private_folder(root)
    settings = load_settings(root, environ=os.environ)
    named = [summary.folder for summary in list_runs(root)] if arguments.all else [
        find_run(root, name) for name in arguments.runs or ["latest"]
    ]  # fmt: skip
    registry = Registry(host, reserved_flags=RESERVED)
    redactor = redactor_of(root, registry)
    arguments_of_sinks = {
        "settings": lambda each: settings.plugin(each.name, settings_model(host, each)),
        "secret": lambda each: plugin_secret(registry, KeyStore(root, redactor, os.environ), each),
    }
    failures: dict[str, str] = {}
    lasting: list[LogSink] = []  # sinks that can tell runs apart
    for folder in named:
        try:
            records = list(_as_of_now(root, folder, redactor))
        except OSError as unreadable:
            failures[folder.name] = f"its events cannot be read: {unreadable.strerror}"
            print_error(f"{folder.name} was not told: {failures[folder.name]}")
            continue
        sinks = lasting or _sinks(host, plugin, arguments_of_sinks)
        lasting = sinks if all(hasattr(sink, _NEXT) for sink in sinks) else []
        for sink in sinks:
            if error := _told(sink, records, over=_NEXT if lasting else "close"):
                failures[folder.name] = error
                print_error(f"the log sink {plugin.name} failed for {folder.name}: {error}")
    for sink in lasting:
        if error := _told(sink, [], over="close"):
            failures[named[-1].name] = error
            print_error(f"the log sink {plugin.name} failed at the end: {error}")
    told = [folder.name for folder in named if folder.name not in failures]
    if arguments.json:
        print_document({"sink": plugin.name, "exported": told, "failed": failures})
    else:
        for name in told:
            print_line(f"{name} told to {plugin.name}")
    return ExitCode.NOT_REACHED if failures else ExitCode.REACHED


def _plugin(host: PluginHost, name: str) -> Plugin:
    for plugin in host.plugins:
        if plugin.name == name and hasattr(plugin.code, _SINKS):
            return plugin
    broken = next((each for each in host.failures if each.plugin == name), None)
    if broken:
        raise UsageError(f"the plugin {name} of {broken.distribution} is broken: {broken.error}")
    known = [plugin.name for plugin in host.plugins if hasattr(plugin.code, _SINKS)]
    html = 'none; `pip install "code-commit[report]"` brings html'
    raise UsageError(
        f"there is no log sink {name!r}" + did_you_mean(name, known),
        hint=f"installed: {', '.join(known) or html}",
    )


def _sinks(host: PluginHost, plugin: Plugin, arguments: Mapping[str, Callable[[Plugin], Any]]) -> list[LogSink]:
    failed = len(host.failures)
    sinks = [sink for _, sink in host.collect(_SINKS, arguments, only=plugin)]
    if len(host.failures) > failed:
        raise NotReady(f"the plugin {plugin.name} gives no sink: {host.failures[-1].error}")
    if not sinks:
        raise NotReady(f"the plugin {plugin.name} gives no sink", hint="its settings may have switched it off")
    return sinks


def _told(sink: LogSink, records: list[Record], *, over: str) -> str:
    """Hand the records over, then call the method `over`; return what went wrong."""
    error = ""
    try:
        for record in records:
            sink.receive(record)
    except BaseException as raised:  # noqa: BLE001 - a plugin's code may raise anything
        error = _words(raised)
    try:
        getattr(sink, over)()
    except BaseException as raised:  # noqa: BLE001 - as above
        error = error or _words(raised)
    return error


def _words(raised: BaseException) -> str:
    if isinstance(raised, KeyboardInterrupt):
        raise raised
    return describe(raised)


def _as_of_now(root: Path, folder: Path, redactor: Redactor) -> Iterator[Record]:
    """Read the records back: with the place where the project is today, and with the diffs that sinks read."""
    diffs = _diffs(root, folder, redactor)
    for record in read_records(folder / EVENTS):
        if record.kind == "run.started":
            yield replace(record, data={**record.data, "root": str(root), "folder": f"logs/{folder.name}"})
        elif record.kind == "changes.applied" and not record.data.get("diff") and record.seq in diffs:
            yield replace(record, data={**record.data, "diff": diffs[record.seq]})
        else:
            yield record


def _diffs(root: Path, folder: Path, redactor: Redactor) -> dict[int, str]:
    """Write the diffs that the run did not keep itself, from its checkpoints; return their names by event."""
    try:
        with checkpointed(root) as project:
            steps = steps_of(project.checkpoints.of_run(folder.name), read_story(folder).applied)
            texts = [(step, project.checkpoints.diff(step.old, step.new)) for step in steps if step.applied]
    except CodeCommitError:
        return {}  # a run is under way, or there is no repository any more: a report without diffs is still one
    return {step.applied.seq: _kept(folder, step, redactor.data(text)) for step, text in texts if step.applied}


def _kept(folder: Path, step: Step, text: bytes) -> str:
    name = numbered(step.applied.call if step.applied else None, "changes.diff")
    try:
        with open(os.open(folder / name, _NEW, 0o600), "wb") as file:  # noqa: PTH123 - a handle
            file.write(text)
    except FileExistsError:
        pass  # an earlier export made it
    return name
