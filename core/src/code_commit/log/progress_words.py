"""The words for a record: pure functions, one per kind of event. Nothing is escaped yet."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from code_commit.log.document import is_build
from code_commit.plugin_api.event import Record

Tone = Literal["plain", "good", "bad", "faint"]
_SHOWN_PATHS = 5
_SHOWN_COMMAND = 80


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that is going on; `key` finds it again when it ends."""

    key: str
    text: str


def lines_of(record: Record) -> Sequence[Line]:
    """Describe what happened; nothing for kinds that people do not need."""
    words = _WORDS.get(record.kind)
    return () if words is None else words(record.data)


def lines_beside_reports(record: Record) -> Sequence[Line]:
    """Describe what a workflow that reports to people leaves out: the models it asks, failures, messages."""
    data = record.data
    match record.kind:
        case "call.started":
            where = [data[name] for name in ("address", "key_source") if data.get(name)]
            return (
                Line(f"asking {data.get('model')} ({', '.join(where)})" if where else f"asking {data.get('model')}"),
            )
        case "state.entered" | "changes.applied" | "process.started":
            return ()
        case "call.finished" if data.get("error") is None:
            return ()
        case "process.finished" if not data.get("tampered"):
            return ()
    return lines_of(record)


def begun(record: Record) -> Activity | None:
    """Return the activity that begins with `record`."""
    data = record.data
    if record.kind == "call.started":
        return Activity(_call_key(data), f"asking {data.get('model')}")
    if record.kind == "process.started":
        return Activity(_process_key(data), _process(data))
    return None


def ended(record: Record) -> str | None:
    """Return the key of the activity that ends with `record`."""
    if record.kind == "call.finished":
        return _call_key(record.data)
    return _process_key(record.data) if record.kind == "process.finished" else None


def clock(seconds: float) -> str:
    """Return a time since the start: 0:07, 12:34, 1:02:03."""
    minutes, rest = divmod(int(max(0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _call_key(data: Mapping[str, Any]) -> str:
    return f"call {data.get('number')}"


def _process_key(data: Mapping[str, Any]) -> str:
    return f"process {data.get('log')}"


def _process(data: Mapping[str, Any]) -> str:
    if is_build(data.get("argv")):
        return "build"
    command = shlex.join(str(word) for word in data.get("argv") or ())
    return command if len(command) <= _SHOWN_COMMAND else command[: _SHOWN_COMMAND - 3] + "..."


def _call_started(data: Mapping[str, Any]) -> Sequence[Line]:
    asked = f"call {data.get('number')}, {data.get('label')}: asking {data.get('model')}"
    where = [data[name] for name in ("address", "key_source") if data.get(name)]
    return (Line(f"{asked} ({', '.join(where)})" if where else asked),)


def _call_retried(data: Mapping[str, Any]) -> Sequence[Line]:
    return (
        Line(f"try {data.get('attempt')} failed: {data.get('reason')}; next in {_seconds(data.get('wait'))}", "bad"),
    )


def _call_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    if data.get("error") is not None:
        return (Line(f"{data.get('model')} failed after {_seconds(data.get('seconds'))}: {data.get('error')}", "bad"),)
    tokens = [
        f"{data[name]} tokens {way}"
        for way, name in (("in", "input_tokens"), ("out", "output_tokens"))
        if data.get(name)
    ]
    finish = data.get("finish")
    ending = [] if finish in {"stop", "tool_calls"} else [f"ended with {data.get('finish_detail') or finish}"]
    return (Line(", ".join([f"{data.get('model')} answered in {_seconds(data.get('seconds'))}", *tokens, *ending])),)


def _changes_applied(data: Mapping[str, Any]) -> Sequence[Line]:
    written, deleted = data.get("written") or (), data.get("deleted") or ()
    told = [
        f"{_count(paths, 'file')} {done}: {_paths(paths)}"
        for done, paths in (("written", written), ("deleted", deleted))
        if paths
    ]
    return tuple(Line(text) for text in told)


def _changes_refused(data: Mapping[str, Any]) -> Sequence[Line]:
    rows = [f"{row.get('path')}: {row.get('reason')}".removeprefix(": ") for row in data.get("refusals") or ()]
    reason = "" if rows and data.get("reason") == "\n".join(rows) else f" {data.get('reason')}"
    return (Line(f"response refused:{reason}", "bad"), *(Line(f"  {row}", "bad") for row in rows))


def _changes_undone(data: Mapping[str, Any]) -> Sequence[Line]:
    paths = data.get("paths") or ()
    if not paths:
        return (Line(f"nothing to take back ({data.get('reason')})"),)
    return (Line(f"{_count(paths, 'file')} taken back ({data.get('reason')}): {_paths(paths)}"),)


def _process_started(data: Mapping[str, Any]) -> Sequence[Line]:
    sandbox = data.get("sandbox")
    return (Line(f"{_process(data)} ({'not isolated' if sandbox == 'off' else f'isolated by {sandbox}'})"),)


def _process_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    name, after, code = _process(data), f"after {_seconds(data.get('seconds'))}", data.get("exit_code")
    see = f", see {data.get('log')}"
    if data.get("tampered"):
        return (Line(f"{name} altered what judges it: {_paths(data['tampered'])}{see}", "bad"),)
    if data.get("timed_out"):
        return (Line(f"{name} stopped at its time limit {after}{see}", "bad"),)
    if code == 0:
        return (Line(f"{name} passed {after}", "good"),)
    how = "ended by a signal" if code is None else f"failed (exit {code})"
    return (Line(f"{name} {how} {after}{see}", "bad"),)


def _plugin_failed(data: Mapping[str, Any]) -> Sequence[Line]:
    of = f" of {data['distribution']}" if data.get("distribution") else ""
    return (Line(f"plugin {data.get('plugin')}{of} failed ({data.get('stage')}): {data.get('error')}", "bad"),)


def _message(data: Mapping[str, Any]) -> Sequence[Line]:
    level = data.get("level", "info")
    return (Line(str(data.get("text"))) if level == "info" else Line(f"{level}: {data.get('text')}", "bad"),)


_WORDS: dict[str, Callable[[Mapping[str, Any]], Sequence[Line]]] = {
    "run.started": lambda data: (Line(f"{data.get('workflow')}, log in {data.get('folder')}", "faint"),),
    "attempt.started": lambda data: (Line(f"attempt {data.get('number', '')}".rstrip()),),
    "call.started": _call_started,
    "call.retried": _call_retried,
    "call.finished": _call_finished,
    "changes.applied": _changes_applied,
    "changes.refused": _changes_refused,
    "changes.undone": _changes_undone,
    "process.started": _process_started,
    "process.finished": _process_finished,
    "state.entered": lambda data: (Line(f"state: {data.get('state')}"),),
    "plugin.failed": _plugin_failed,
    "message": _message,
}


def _paths(paths: Sequence[Any]) -> str:
    shown = ", ".join(str(path) for path in paths[:_SHOWN_PATHS])
    more = len(paths) - _SHOWN_PATHS
    return f"{shown} and {more} more" if more > 0 else shown


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun}" if len(items) == 1 else f"{len(items)} {noun}s"


def _seconds(value: Any) -> str:
    return f"{value:.1f} s" if isinstance(value, int | float) else "? s"
