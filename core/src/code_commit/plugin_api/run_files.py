"""The files of a run: find them, read records and replies back, and check whether a run is still running."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

from code_commit.plugin_api.conversation import Opaque, Part, Text, ToolCall, ToolResult
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.event import Record
from code_commit_workspace import close_arrays, is_locked, open_regular, output_folders, plain_name, read_json_lines

LOGS = "logs"  # the folder of all run folders
EVENTS, DOCUMENT = "events.jsonl", "run.json"
LARGEST_DIFF = 8 * 1024 * 1024  #: bytes; larger diffs are left out of run folders
_PARTS: dict[str, type[Part]] = {"text": Text, "tool_call": ToolCall, "opaque": Opaque, "tool_result": ToolResult}


def find_run(root: Path, run: str) -> Path:
    """Return the folder of a run. `run` is its name, a unique prefix of its name, or `latest`.

    If the run was killed, the arrays of events that it left open are closed.

    Raises:
        NotReady: no run matches, or the prefix matches several.
    """
    names = [folder.name for folder in run_folders(root)]
    if not names:
        raise NotReady(f"there are no runs in {root / LOGS}", hint="run `code-commit` first")
    found = (
        [run] if run in names else names[-1:] if run == "latest" else [each for each in names if each.startswith(run)]
    )
    if len(found) == 1 and run:
        if not is_running(folder := root / LOGS / found[0]):
            close_arrays(folder, "*-response*.json")
        return folder
    if found and run:
        raise NotReady(f"{run!r} matches {len(found)} runs", hint=f"for example {', '.join(found[:3])}")
    raise NotReady(f"there is no run {run!r} in {root / LOGS}", hint="`code-commit runs` lists the runs")


def run_folders(root: Path) -> list[Path]:
    """Return the folders of all runs, the oldest first."""
    return output_folders(root / LOGS)


def read_records(events: Path) -> Iterator[Record]:
    """Read the records of `events.jsonl` in order.

    Lines that are not records are skipped: a killed run or a full disk can leave an incomplete line.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    return filter(None, map(_record, read_json_lines(events)))


def open_run_file(folder: Path, name: str) -> BinaryIO:
    """Open the file `name` in a run folder for reading. The folder is untrusted: nothing outside of it is opened.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: `name` is not the name of a file in a run folder.
    """
    return open_regular(folder / plain_name(name))


def is_running(folder: Path) -> bool:
    """Return whether the process of an unfinished run is alive; if not, the run was killed.

    The process holds a lock on `events.jsonl`, which the system releases when the process ends.
    """
    return is_locked(folder / EVENTS)


def _record(value: Any) -> Record | None:
    match value:
        case {
            "seq": int(seq),
            "time": int() | float() as time,
            "run": str(run),
            "span": int(span),
            "parent": int() | None as parent,
            "kind": str(kind),
            "data": dict(data),
            "version": int(version),
        }:
            return Record(seq, float(time), run, span, parent, kind, data, version)
    return None


def parts_to_json(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return `parts` as JSON for `parts_from_json`, without cache hints."""
    types = {cls: name for name, cls in _PARTS.items()}
    return [{"type": types[type(part)], **_row(part)} for part in parts]


def _row(part: Part) -> dict[str, Any]:
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.name != "cache_here"}
    return {name: _row(value) if isinstance(value, Opaque) else value for name, value in values.items()}


def parts_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """Return the parts that `parts_to_json` wrote.

    Raises:
        KeyError, TypeError: a row does not have that form.
    """
    parts: list[Part] = []
    for row in rows:
        values = {name: value for name, value in row.items() if name != "type"}
        if row["type"] not in _PARTS:
            raise TypeError(f"a message has no part of type {row['type']!r}")
        if values.get("echo"):
            values["echo"] = Opaque(**values["echo"])
        parts.append(_PARTS[row["type"]](**values))
    return tuple(parts)
