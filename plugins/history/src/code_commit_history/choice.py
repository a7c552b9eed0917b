"""The code that a context chose for a run, so that its replay shows the same."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Json, open_run_file, read_records

_FILE = "input-choice.json"


def recorded_choice(folder: Path) -> Json | None:
    """Return what was chosen, or None if the run showed all of the code.

    `related` has the files that joined each repair.
    """
    try:
        with open_run_file(folder, _FILE) as file:
            recorded: Any = json.loads(file.read())
        recorded["choice"]["related"] = _related(folder)
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return None
    return recorded  # type: ignore[no-any-return] # `related` was set, so it is a mapping


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
            attempt = int(record.data["number"])
        elif record.kind == "context.chosen":
            files = list(map(str, record.data["files"]))
            if record.data["cause"] == "failure":
                joined[attempt] = [path for path in files if path not in shown]
            shown = files
    return [joined.get(number, []) for number in range(1, attempt + 1)]
