"""Collect the result of a unit on its worker: its record and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Record, read_records, read_summary, run_folders
from code_commit_fleet import bundle
from code_commit_fleet.unit_process import Ended
from code_commit_workspace import Redactor, as_on_terminal, open_regular

LONGEST = 2000  # characters of an error
_MOST_FILES = 1000  # names of files in a record
_BUILD_TAIL = 1024 * 1024  # bytes
# After these errors, the service may still charge for the request.
_MAY_HAVE_COST = {"network", "server", "invalid_response"}
_REASONS = {"timeout": "timeout", "stopped": "interrupted"}  # outcomes of units that we ended
_LONGEST_LINE = 300  # characters of a line with an error
_NO_ERROR = ("$ ", "---", "hint:", "log:")  # starts of other lines
_ERROR_LINE = re.compile(r"error|fail|exception|panic|cannot|undefined", re.IGNORECASE)


def record_of(ended: Ended, project: Path) -> dict[str, Any]:
    """Return the record of a unit whose `code-commit` ended."""
    finished = _run_finished(ended.stdout)
    folder = run_folder(project, ended)
    run = read_summary(folder) if folder else {}
    outcome = _REASONS.get(ended.reason) or str(finished.get("outcome") or "internal")
    data = finished.get("data")
    files: list[Any] = []
    if isinstance(data, dict):
        for name in ("written", "deleted", "changed"):
            files += data.get(name) or []
    error = ""
    if outcome != "reached":
        error = str(finished.get("summary") or first_error(ended.stderr))
    if outcome == "not_reached":
        error = first_error(_last_build(folder)) or error
    return {
        "outcome": outcome,
        "exit_code": ended.exit_code,
        "attempts": int(run.get("attempts") or 0),
        "files": list(map(str, files)),
        "error": error.replace(f"{project}/", ""),
        "branch": "",
        **_cost(folder, run),
    }


def _cost(folder: Path | None, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cost of a run. `unknown` is whether a lost call may have been charged.

    Without `--max-cost`, a run computes no cost; the driver computes it from the tokens in
    `models`.
    """
    started = 0
    finished = 0
    is_unknown = False
    cost: float | None = 0.0
    for record in _records(folder):
        data = record.data
        match record.kind:
            case "call.started":
                started += 1
            case "call.retried":
                is_unknown |= "429" not in str(data.get("reason"))
            case "call.finished":
                finished += 1
                is_unknown |= data.get("error_kind") in _MAY_HAVE_COST
                is_unknown |= data.get("error") == "interrupted"
                cost = _added(cost, data)
    is_unknown |= started > finished
    return {
        "cost": None if is_unknown else cost,
        "models": run.get("models") or [],
        "unknown": is_unknown,
    }


def _records(folder: Path | None) -> Iterator[Record]:
    if folder is not None:
        with suppress(OSError):
            yield from read_records(folder / "events.jsonl")


def _added(cost: float | None, call: Mapping[str, Any]) -> float | None:
    """Add the cost of a finished call; a failed one without a cost costs nothing."""
    usd = call.get("cost_usd")
    if isinstance(usd, int | float):
        return None if cost is None else cost + usd
    return None if call.get("error") is None else cost


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match event:
            case {"kind": str(), "data": dict()}:
                yield event


def bounded(record: dict[str, Any]) -> dict[str, Any]:
    """Limit the length of the texts in `record`, and return it."""
    record["error"] = str(record.get("error") or "")[:LONGEST]
    record["files"] = [str(path)[:LONGEST] for path in (record.get("files") or [])[:_MOST_FILES]]
    return record


def run_folder(project: Path, ended: Ended) -> Path | None:
    """Return the folder of the run that `ended`, or None if it did not begin."""
    runs = [event.get("run") for event in _events(ended.stdout)]
    if not runs:
        return None
    folders = [folder for folder in run_folders(project) if folder.name == runs[-1]]
    return folders[0] if folders else None


def files_of(folder: Path | None, patch: bytes, redactor: Redactor) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a result, the most important first, because the last ones may be left out.

    `folder` is the run folder.
    """
    if folder is None:
        return
    if patch:
        yield "change.patch", redactor.data(patch)
    if build := _last_build(folder):
        yield "build.txt", redactor.data(build)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    first = [name for name in ("run.json", "report.html", "events.jsonl") if name in names]
    for name in (*first, *(name for name in names if name not in first)):
        if bundle.is_file_name(name):
            yield f"run/{name}", redactor.data(_content(folder / name))


def _content(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(bundle.FILE_LIMIT)
    except OSError:
        return b""


def _last_build(folder: Path | None) -> bytes:
    """Return the end of the log of the last build of a changed project, as a terminal shows it."""
    if folder is None:
        return b""
    logs = [path for path in folder.glob("*-build.txt") if "baseline" not in path.name]
    if not logs:
        return b""
    return as_on_terminal(_content(max(logs, key=_number_of)))[-_BUILD_TAIL:]


def _number_of(log: Path) -> int:
    number = log.name.partition("-")[0]
    return int(number) if number.isdecimal() else 0


def first_error(output: bytes) -> str:
    """Return the first line that looks like an error, else the last line."""
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith(_NO_ERROR)]
    if not lines:
        return ""
    line = next((line for line in lines if _ERROR_LINE.search(line)), lines[-1])
    return line[:_LONGEST_LINE]


def _run_finished(stdout: bytes) -> dict[str, Any]:
    for event in _events(stdout):
        if event["kind"] == "run.finished":
            data: dict[str, Any] = event["data"]
            return data
    return {}
