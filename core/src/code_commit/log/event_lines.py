"""The lines for people about an event."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from code_commit.plugin_api.context_line import describe_context
from code_commit.plugin_api.process_end import is_baseline, is_build, process_ending, process_passed
from code_commit.plugin_api.record import Record
from code_commit.plugin_api.run_files import LOGS
from code_commit_workspace.words import count_of, join_paths, shorten

_SHOWN_PATHS = 5
_SHOWN_COMMAND = 80
_TOKENS = {"in": "input_tokens", "out": "output_tokens"}

ENDED_EARLY = ("interrupted", "cancelled")  # errors of calls that the run ended
# Styles of rich.
GOOD = "green"
BAD = "red"
FAINT = "dim"


@dataclass(frozen=True, slots=True)
class Line:
    """A line about an event, in a style of rich."""

    text: str
    style: str = ""


def lines_of(record: Record) -> Sequence[Line]:
    """Return the lines about a record; none for kinds that people do not need."""
    describe = _LINES.get(record.kind)
    if describe is None:
        return ()
    # The path of the log from where the command runs.
    log = f"{LOGS}/{record.run}/{record.data.get('log')}"
    return describe({**record.data, "log": log})


def lines_beside_workflow(record: Record) -> Sequence[Line]:
    """Return the lines that a workflow with its own reports leaves out.

    They are about models, failures and messages.
    """
    data = record.data
    match record.kind:
        case "call.started":
            return (Line(_asking(data)),)
        case "state.entered" | "changes.applied" | "process.started":
            return ()
        case "call.finished" if data.get("error") is None:
            return ()
        case "process.finished" if not data.get("tampered"):
            return ()
    return lines_of(record)


def activity_of(record: Record) -> str:
    """Return what goes on after this record, for the status line; empty if nothing begins."""
    match record.kind:
        case "call.started":
            return f"asking {record.data.get('model')}"
        case "process.started":
            return _process(record.data)
    return ""


def _run_started(data: Mapping[str, Any]) -> Sequence[Line]:
    return (Line(f"{data.get('workflow')}, log in {data.get('folder')}", FAINT),)


def _attempt_started(data: Mapping[str, Any]) -> Sequence[Line]:
    return (Line(f"attempt {data.get('number', '')}".rstrip()),)


def _context_chosen(data: Mapping[str, Any]) -> Sequence[Line]:
    lines = [Line(describe_context(data))]
    if data.get("cause") == "query" and data.get("reason"):
        lines.append(Line(f"  {data['reason']}", FAINT))
    rows = [f"{row.get('path')}: {row.get('reason')}" for row in data.get("left_out") or ()]
    lines += [Line(f"  not shown: {row}", BAD) for row in rows[:_SHOWN_PATHS]]
    if len(rows) > _SHOWN_PATHS:
        lines.append(Line(f"  and {len(rows) - _SHOWN_PATHS:,} more", BAD))
    return lines


def _call_started(data: Mapping[str, Any]) -> Sequence[Line]:
    return (Line(f"call {data.get('number')}, {data.get('label')}: {_asking(data)}"),)


def _asking(data: Mapping[str, Any]) -> str:
    details = [data[name] for name in ("address", "key_source") if data.get(name)]
    if not details:
        return f"asking {data.get('model')}"
    return f"asking {data.get('model')} ({', '.join(details)})"


def _call_retried(data: Mapping[str, Any]) -> Sequence[Line]:
    failure = f"try {data.get('attempt')} failed: {data.get('reason')}"
    return (Line(f"{failure}; next in {_seconds(data.get('wait'))}", BAD),)


def _call_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    model = data.get("model")
    seconds = _seconds(data.get("seconds"))
    error = data.get("error")
    if error is not None and data.get("cost_usd") == 0:
        return (Line(f"{model} was not called", BAD),)
    if error in ENDED_EARLY:
        return (Line(f"{model} {error} after {seconds}", BAD),)
    if error is not None:
        return (Line(f"{model} failed after {seconds}", BAD),)
    text = f"{model} answered in {seconds}"
    for direction, name in _TOKENS.items():
        if tokens := data.get(name):
            text += f", {count_of(tokens, 'token')} {direction}"
    finish = data.get("finish")
    if finish not in {"stop", "tool_calls"}:
        text += f", ended with {data.get('finish_detail') or finish}"
    return (Line(text),)


def _changes_applied(data: Mapping[str, Any]) -> Sequence[Line]:
    lines = [
        Line(f"{count_of(len(paths), 'file')} {verb}: {join_paths(paths, _SHOWN_PATHS)}")
        for verb in ("written", "deleted")
        if (paths := data.get(verb))
    ]
    if merged := data.get("merged"):
        lines.append(Line(f"merged with your changes: {join_paths(merged, _SHOWN_PATHS)}"))
    return lines


def _changes_refused(data: Mapping[str, Any]) -> Sequence[Line]:
    reason = str(data.get("reason"))  # of several, it is the first
    rows = [
        f"{refusal.get('path')}: {refusal.get('reason')}".removeprefix(": ")
        for refusal in data.get("refusals") or ()
    ]
    if rows and reason.startswith(rows[0]):
        title = "response refused:"
        rows = reason.split("\n")
    else:
        title = f"response refused: {reason}"
    return (Line(title, BAD), *(Line(f"  {row}", BAD) for row in rows))


def _changes_undone(data: Mapping[str, Any]) -> Sequence[Line]:
    paths = data.get("paths") or ()
    reason = data.get("reason")
    if not paths:
        return (Line(f"nothing to undo ({reason})"),)
    count = count_of(len(paths), "file")
    return (Line(f"{count} restored ({reason}): {join_paths(paths, _SHOWN_PATHS)}"),)


def _process_started(data: Mapping[str, Any]) -> Sequence[Line]:
    if is_baseline(data):
        return ()
    isolation = f"isolated by {data.get('sandbox')}"
    if data.get("sandbox") == "off":
        isolation = "not isolated"
    return (Line(f"{_process(data)} ({isolation})"),)


def _process_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    if is_baseline(data):
        return _baseline_finished(data)
    name = _process(data)
    after = f"after {_seconds(data.get('seconds'))}"
    if process_passed(data):
        return (Line(f"{name} passed {after}", GOOD),)
    ending = process_ending(data)
    if not data.get("tampered"):
        ending = f"{ending} {after}"
    return (Line(f"{name} {ending}, see {data.get('log')}", BAD),)


def _baseline_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    if process_passed(data) or data.get("exit_code") is None:
        return ()
    text = f"the build is red before the run: it {process_ending(data)}, see {data.get('log')}"
    return (Line(text, BAD),)


def _process(data: Mapping[str, Any]) -> str:
    if is_build(data.get("argv")):
        return "build"
    command = shlex.join(str(word) for word in data.get("argv") or ())
    return shorten(command, _SHOWN_COMMAND)


def _acceptance_checked(data: Mapping[str, Any]) -> Sequence[Line]:
    if data.get("accepted"):
        return ()  # the last lines of the run have its notes
    check = f"the acceptance check {data.get('check')} of {data.get('distribution')}"
    return (Line(f"{check} refuses the change: {data.get('reason')}", BAD),)


def _state_entered(data: Mapping[str, Any]) -> Sequence[Line]:
    return (Line(f"state: {data.get('state')}"),)


def _plugin_failed(data: Mapping[str, Any]) -> Sequence[Line]:
    plugin = f"plugin {data.get('plugin')}"
    if data.get("distribution"):
        plugin += f" of {data['distribution']}"
    return (Line(f"{plugin} failed ({data.get('stage')}): {data.get('error')}", BAD),)


def _message(data: Mapping[str, Any]) -> Sequence[Line]:
    level = data.get("level", "info")
    if level == "info":
        return (Line(str(data.get("text"))),)
    return (Line(f"{level}: {data.get('text')}", BAD),)


_LINES: dict[str, Callable[[Mapping[str, Any]], Sequence[Line]]] = {
    "run.started": _run_started,
    "attempt.started": _attempt_started,
    "context.chosen": _context_chosen,
    "call.started": _call_started,
    "call.retried": _call_retried,
    "call.finished": _call_finished,
    "changes.applied": _changes_applied,
    "changes.refused": _changes_refused,
    "changes.undone": _changes_undone,
    "process.started": _process_started,
    "process.finished": _process_finished,
    "acceptance.checked": _acceptance_checked,
    "state.entered": _state_entered,
    "plugin.failed": _plugin_failed,
    "message": _message,
}


def _seconds(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:.1f} s"
    return "? s"
