"""The summary of an earlier run, from `run.json` or from its events."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from code_commit.plugin_api.run_files import (
    DOCUMENT,
    EVENTS,
    is_running,
    open_run_file,
    read_records,
)
from code_commit.plugin_api.run_json import render_document, run_document
from code_commit.plugin_api.stored_json import counts, read_json
from code_commit_workspace import STOP, replace_file

_LARGEST = 64 * 1024 * 1024  # bytes
_ENDED = frozenset({"finished", "killed"})
_COUNTED = ("seconds", "attempts", "calls", "tokens", "cost_usd", "models")  # fields with numbers


def read_summary(folder: Path) -> Mapping[str, Any]:
    """Return the fields of `run.json` of a run, whose `state` is true.

    The events of a run that was killed are read once: then its `run.json` has them all.
    """
    STOP.check()
    document = _ended_document(folder)
    if document is None and not is_running(folder):
        # It may have finished meanwhile.
        document = _ended_document(folder) or _summarize_killed(folder)
    return document or _read_events(folder)


def note_undone(folder: Path, paths: Collection[str]) -> None:
    """Keep in `run.json` that these files of a run were moved back."""
    _change_undone(folder, lambda undone: undone | set(paths))


def note_redone(folder: Path, paths: Collection[str]) -> None:
    """Keep in `run.json` that these files of a run were brought back."""
    _change_undone(folder, lambda undone: undone - set(paths))


def _change_undone(folder: Path, change: Callable[[set[str]], set[str]]) -> None:
    if folder.is_symlink() or folder.parent.is_symlink():
        return
    document = read_summary(folder)
    if document["state"] not in _ENDED or document.get("run") is None:
        return
    undone = document.get("undone")
    before = (
        {path for path in undone if isinstance(path, str)} if isinstance(undone, list) else set()
    )
    _write(folder, {**document, "undone": sorted(change(before))})


def _ended_document(folder: Path) -> dict[str, Any] | None:
    """Return `run.json` if the run has ended; before, the file is older than the events."""
    try:
        with open_run_file(folder, DOCUMENT) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                return None
            document = read_json(file.read())
        if not isinstance(document, dict) or document.get("state") not in _ENDED:
            return None
        if not all(counts(document.get(name)) for name in _COUNTED):
            return None
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return document


def _summarize_killed(folder: Path) -> dict[str, Any]:
    document = _read_events(folder)
    if document["state"] != "finished":
        document["state"] = "killed"
    if document["run"] is not None:
        _write(folder, document)
    return document


def _write(folder: Path, document: Mapping[str, Any]) -> None:
    """Write `run.json`. If that fails, the file is as before, and the next reader tries again."""
    with suppress(OSError, ValueError):
        replace_file(folder / DOCUMENT, render_document(document).encode())


def _read_events(folder: Path) -> dict[str, Any]:
    try:
        return run_document(read_records(folder / EVENTS))
    except OSError:
        return run_document([])
