"""The code and the response format of a commit, so that its replay has the same."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Json, open_run_file, read_json, read_records

_FILE = "input-choice.json"
_FORMAT = "input-format.txt"
_USUAL_FORMAT = "files"  # of a run that keeps no name of a format


def recorded_choice(folder: Path) -> Json | None:
    """Return what was chosen, or None if the run showed all of the code.

    `related` has the files that joined each repair.
    """
    try:
        with open_run_file(folder, _FILE) as file:
            recorded: Any = read_json(file.read())
        recorded["choice"]["related"] = _related(folder)
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return recorded  # type: ignore[no-any-return] # `related` was set, so it is a mapping


def recorded_format(folder: Path) -> str:
    """Return the name of the format in which the responses of the run are written."""
    try:
        with open_run_file(folder, _FORMAT) as file:
            return file.read().decode().strip()
    except (OSError, ValueError):
        return _USUAL_FORMAT


def flags_of_code(folder: Path) -> dict[str, Any]:
    """Return the flags with which a commit shows the files that the run showed in the end.

    They are the ones that its responses could change.
    """
    recorded: Any = recorded_choice(folder)
    if recorded is None:
        return {"context": "all"}
    shown: list[str] = []
    for record in read_records(folder / "events.jsonl"):
        if record.kind == "context.chosen":
            shown = list(map(str, record.data["files"]))
    return {
        "context": "auto",
        "context_tokens": recorded["choice"].get("tokens"),
        "files": shown,
    }


def manifest_of(choice: Json, rollup: bytes) -> Json:
    """Return the manifest of a rollup that has what was chosen."""
    places = {"version": 3, "rollup": zlib.crc32(rollup), "files": {}, "others": []}
    return {**places, **choice}


def _related(folder: Path) -> list[list[str]]:
    """Return the files that joined each repair, in order."""
    joined: dict[int, list[str]] = {}
    attempt = 0
    shown: list[str] = []
    for record in read_records(folder / "events.jsonl"):
        if record.kind == "attempt.started":
            attempt += 1
        elif record.kind == "context.chosen":
            files = list(map(str, record.data["files"]))
            if record.data["cause"] == "failure":
                joined[attempt] = [path for path in files if path not in shown]
            shown = files
    return [joined.get(number, []) for number in range(1, attempt + 1)]
