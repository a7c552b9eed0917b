"""`code-commit runs export --sink NAME`: send the records of earlier runs to a log sink."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    LARGEST_DIFF,
    CodeCommitError,
    ExitCode,
    Host,
    Interrupted,
    LogSink,
    NotReady,
    Record,
    describe,
    find_run,
    read_records,
    require_sync,
    run_folders,
)
from code_commit_history.changes import steps_of
from code_commit_history.story import Applied, read_story
from code_commit_workspace import RunChanges, Store, create_file

SINKS, _NEXT = "code_commit_log_sinks", "next_run"


def export(host: Host, arguments: argparse.Namespace) -> int:
    """Send the records of runs to the sinks of a plugin. A sink with `next_run` receives all runs.

    Raises:
        UsageError: the plugin does not exist.
        NotReady: a run does not exist, or the plugin has no sink.
    """
    name = arguments.sink
    first = _sinks(host, name)
    if arguments.all:
        folders = run_folders(host.root)
    else:
        folders = [find_run(host.root, run) for run in arguments.runs or ["latest"]]
    failures: dict[str, str] = {}
    shared: list[LogSink] = []  # sinks with `next_run`, which receive all runs
    for folder in folders:
        try:
            records = list(current_records(host, folder))
        except OSError as unreadable:
            failures[folder.name] = f"its events cannot be read: {unreadable.strerror}"
            host.out.note(f"warning: {folder.name} was not exported: {failures[folder.name]}")
            continue
        sinks = shared or first or _sinks(host, name)
        first = []
        shared = sinks if all(hasattr(sink, _NEXT) for sink in sinks) else []
        for sink in sinks:
            if error := send(sink, records, end=_NEXT if shared else "close"):
                failures[folder.name] = error
                host.out.note(f"warning: the log sink {name} failed for {folder.name}: {error}")
    for sink in shared:
        if error := send(sink, [], end="close"):
            failures[folders[-1].name] = error
            host.out.note(f"warning: the log sink {name} failed at the end: {error}")
    exported = [folder.name for folder in folders if folder.name not in failures]
    if arguments.json:
        host.out.document({"sink": name, "exported": exported, "failed": failures})
    else:
        for run in exported:
            host.out.line(f"{run} exported to {name}")
    return ExitCode.NOT_REACHED if failures else ExitCode.REACHED


def _sinks(host: Host, name: str) -> list[LogSink]:
    sinks = [sink for _, sink in host.collect(SINKS, plugin=name)]
    if sinks:
        return sinks
    errors = [failure.error for failure in host.failures if failure.plugin == name]
    if errors:
        raise NotReady(f"the plugin {name} returned no sink: {errors[-1]}")
    raise NotReady(f"the plugin {name} returned no sink", hint="its settings may turn it off")


def send(sink: Any, records: Iterable[Record], *, end: str) -> str:
    """Send the records to a sink, then call its method `end`.

    Return the error as text, or an empty text.
    """
    error = ""
    try:
        for record in records:
            require_sync(sink.receive(record))
    except BaseException as raised:  # noqa: BLE001 - a plugin's code may raise anything
        error = _description(raised)
    try:
        require_sync(getattr(sink, end)())
    except BaseException as raised:  # noqa: BLE001 - a plugin's code may raise anything
        error = error or _description(raised)
    return error


def _description(raised: BaseException) -> str:
    if isinstance(raised, Interrupted | KeyboardInterrupt):
        raise raised
    return describe(raised)


def current_records(host: Host, folder: Path) -> Iterator[Record]:
    """Read the records; replace the root with the current one, and add the diffs for sinks."""
    diffs = _diffs(host, folder)
    for record in read_records(folder / "events.jsonl"):
        added: dict[str, Any] = {}
        if record.kind == "run.started":
            added = {"root": str(host.root), "folder": f"logs/{folder.name}"}
        elif record.kind == "changes.applied" and record.seq in diffs:
            added = {"diff": record.data.get("diff") or diffs[record.seq]}
        yield replace(record, data={**record.data, **added}) if added else record


def _diffs(host: Host, folder: Path) -> dict[int, str]:
    """Write the missing diffs of the run from its log; return their names by event."""
    names: dict[int, str] = {}
    texts: dict[str, str] = {}
    try:
        with host.workspace(writes=True, repository="existing") as project:
            store = project.store
            log = store.logs.of(folder.name)
            for step in steps_of(store, folder.name, read_story(folder).applied):
                if step.applied:
                    names[step.applied.seq] = _name_of(step.applied)
                    texts[_name_of(step.applied)] = _small_diff(store, step.changes)
            if log:
                texts["all-changes.diff"] = _small_diff(store, RunChanges(store, log).net())
    except CodeCommitError:
        return {}  # a run is running, or the repository is gone: export without diffs
    for name, text in texts.items():
        if text:
            _write_diff(folder, name, host.redactor.text(text).encode())
    return {seq: name for seq, name in names.items() if texts[name]}


def _small_diff(store: Store, changes: Mapping[str, Any]) -> str:
    """Return a diff, or an empty text if it is too large for a log."""
    diffs = [file.text for file in store.diffs(changes, most=LARGEST_DIFF)]
    return "".join(diffs) if all(diffs) else ""


def _name_of(applied: Applied) -> str:
    return "changes.diff" if applied.call is None else f"{applied.call}-changes.diff"


def _write_diff(folder: Path, name: str, text: bytes) -> str:
    with suppress(FileExistsError):  # an earlier export wrote it
        create_file(folder / name, text)
    return name
