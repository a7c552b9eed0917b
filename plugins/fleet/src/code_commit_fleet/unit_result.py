"""Collect the result of a unit on its worker: its record and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from code_commit.plugin_api import run_folders
from code_commit_fleet import bundle
from code_commit_fleet.unit_process import Ended
from code_commit_workspace import Redactor, as_on_terminal, open_regular

LONGEST = 2000  # characters of an error
_MOST_FILES = 1000  # names of files in a record
_BUILD_TAIL = 1024 * 1024  # bytes
# After these errors, the service may still charge for the request.
_MAY_HAVE_COST = {"network", "server", "invalid_response"}
_ERROR_LINE = re.compile(r"error|fail|exception|panic|cannot|undefined", re.IGNORECASE)


def record_of(ended: Ended, project: Path) -> dict[str, Any]:
    """Return the record of a unit whose `code-commit` ended."""
    finished = _run_finished(ended.stdout)
    folder = run_folder(project, ended)
    run = _json_file(folder, "run.json")
    outcome = "timeout" if ended.reason == "timeout" else str(finished.get("outcome") or "internal")
    outcome = "interrupted" if ended.reason == "stopped" else outcome
    data = finished.get("data")
    data = data if isinstance(data, dict) else {}
    files = [path for name in ("written", "deleted", "changed") for path in data.get(name) or []]
    error = (
        "" if outcome == "reached" else str(finished.get("summary") or first_error(ended.stderr))
    )
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


def _cost(folder: Path | None, run: dict[str, Any]) -> dict[str, Any]:
    """Return the cost of a run. `unknown` is whether a lost call may have been charged.

    Without `--max-cost`, a run computes no cost; the driver computes it from the tokens in
    `models`.
    """
    started = finished = 0
    unknown, cost, priced = False, 0.0, True
    for event in _events(_content(folder / "events.jsonl") if folder else b""):
        data = event["data"]
        started += event["kind"] == "call.started"
        if event["kind"] == "call.retried":
            unknown |= "429" not in str(data.get("reason"))
        elif event["kind"] == "call.finished":
            finished += 1
            unknown |= (
                data.get("error_kind") in _MAY_HAVE_COST or data.get("error") == "interrupted"
            )
            if isinstance(data.get("cost_usd"), int | float):
                cost += data["cost_usd"]
            elif data.get("error") is None:
                priced = False
    unknown |= started > finished
    return {
        "cost": cost if priced and not unknown else None,
        "models": run.get("models") or [],
        "unknown": unknown,
    }


def _events(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if (
            isinstance(event, dict)
            and isinstance(event.get("kind"), str)
            and isinstance(event.get("data"), dict)
        ):
            yield event


def bounded(record: dict[str, Any]) -> dict[str, Any]:
    """Limit the length of the texts in `record`, and return it."""
    record["error"] = str(record.get("error") or "")[:LONGEST]
    record["files"] = [str(path)[:LONGEST] for path in (record.get("files") or [])[:_MOST_FILES]]
    return record


def run_folder(project: Path, ended: Ended) -> Path | None:
    """Return the folder of the run that `ended`: a repository may contain others, and links."""
    runs = [event.get("run") for event in _events(ended.stdout)]
    return next((each for each in run_folders(project) if each.name in runs[-1:]), None)


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
    names = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
    first = ["run.json", "report.html", "events.jsonl"]
    for name in sorted(names, key=lambda each: first.index(each) if each in first else len(first)):
        if all(
            re.fullmatch(r"(?!\.)[A-Za-z0-9_][A-Za-z0-9_. +@=,-]{0,199}", part)
            for part in name.split("/")
        ):
            yield f"run/{name}", redactor.data(_content(folder / name))


def _content(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(bundle.FILE_LIMIT)
    except OSError:
        return b""


def _last_build(folder: Path | None) -> bytes:
    """Return the end of the log of the last build of a changed project, as a terminal would show
    it.
    """
    logs = (
        [each for each in folder.glob("*-build.txt") if "untouched" not in each.name]
        if folder
        else []
    )
    numbered = sorted(logs, key=lambda each: int(re.match(r"\d*", each.name)[0] or 0))  # type: ignore[index]
    return as_on_terminal(_content(numbered[-1]))[-_BUILD_TAIL:] if numbered else b""


def first_error(output: bytes) -> str:
    """Return the first line that looks like an error, else the last line."""
    lines = [
        line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()
    ]
    lines = [line for line in lines if not line.startswith(("$ ", "---", "hint:", "log:"))]
    return next((line for line in lines if _ERROR_LINE.search(line)), lines[-1] if lines else "")[
        :300
    ]


def _run_finished(stdout: bytes) -> dict[str, Any]:
    found: dict[str, Any] = next(
        (each["data"] for each in _events(stdout) if each["kind"] == "run.finished"), {}
    )
    return found


def _json_file(folder: Path | None, name: str) -> dict[str, Any]:
    try:
        document = json.loads(_content(folder / name)) if folder else {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
