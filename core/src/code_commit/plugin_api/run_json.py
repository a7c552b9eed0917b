"""`run.json`: a summary of the records of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from code_commit.plugin_api.process_end import is_baseline, is_build
from code_commit.plugin_api.record import Record
from code_commit_workspace.words import count_of

# A run that was not ready, with events of these kinds alone, did not begin.
BEFORE_WORK = frozenset({"run.started", "query.read", "message", "plugin.failed", "run.finished"})
_TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")
# After these errors, the service may still charge for the request.
_MAY_HAVE_COST = frozenset({"network", "server", "invalid_response", None})
_LEAST_COST = 0.00005  # in USD; less would be shown as 0
_SHORT_ID = 7  # characters of a commit
_MINUTE = 60  # seconds
_DIRECTIONS = {"input": "in", "output": "out"}
_OF_START = ("workflow", "root", "folder", "commit", "pid", "argv", "versions")
_OF_END = ("outcome", "exit_code", "summary", "data")
_WRITE_AFTER = frozenset(
    {"run.started", "call.finished", "process.finished", "attempt.finished", "run.finished"}
)


class RunDocument:
    """The content of `run.json` after the records received so far.

    A total sums the counts that services report, and is null without any; `calls.unknown` counts
    the calls without token counts. An attempt is a span of that kind; in a workflow without such
    spans, every call is an attempt. Times are UTC, durations are seconds. The next record changes
    `fields`. `call_costs` are the costs, by number, of the calls that `price` looked up.
    """

    def __init__(self) -> None:
        self._started = 0.0
        self._spans_attempts = False
        self._providers: dict[int, str] = {}
        self.call_costs: dict[str, float] = {}
        self._changed: set[str] = set()
        # Of calls whose cost depends on the list of prices: number, row in `models`, and tokens.
        self._to_price: list[tuple[str, dict[str, Any], Mapping[str, Any]]] = []
        self.fields: dict[str, Any] = {
            "version": 1,
            "run": None,
            "workflow": None,
            "query": None,
            "state": "running",
            "outcome": None,
            "exit_code": None,
            "summary": None,
            "started": None,
            "finished": None,
            "seconds": {"total": 0.0, "model": 0.0, "build": 0.0, "commands": 0.0},
            "attempts": 0,
            "calls": {"started": 0, "finished": 0, "failed": 0, "unknown": 0},
            "tokens": dict.fromkeys(_TOKENS),
            "cost_usd": None,
            "models": [],
            "plugins_failed": [],
            "files": [],
            "undone": [],
            "root": None,
            "folder": None,
            "commit": None,
            "pid": None,
            "argv": [],
            "versions": {},
            "data": {},
        }

    def text(self) -> str:
        """Render the document for its file."""
        return render_document(self.fields)

    def price(self) -> None:
        """Look up the prices of the calls so far. The list of prices loads on first use."""
        if not self._to_price:
            return
        from code_commit.plugin_api.conversation import Usage, cost_of

        for number, row, counts in self._to_price:
            cost = None
            with suppress(ArithmeticError, TypeError, ValueError):  # a log may contain anything
                cost = cost_of(row["model"], Usage(**counts))
            if cost is not None:
                row["cost_usd"] = round(row["cost_usd"] + cost, 9)
                row["unpriced"] -= 1
                self.call_costs[number] = cost
        self._to_price = []

    def receive(self, record: Record) -> bool:
        """Add a record; return whether to write the file now."""
        data = record.data
        if record.kind == "run.started":
            self._started = record.time
            self._copy(_OF_START, data, run=record.run, started=_utc(record.time))
        elif record.kind == "query.read":
            self._copy(("query",), data)
        elif record.kind == "attempt.started":
            self._spans_attempts = True
            self.fields["attempts"] += 1
        elif record.kind == "call.started":
            self.fields["calls"]["started"] += 1
            self.fields["attempts"] += not self._spans_attempts
            self._providers[_whole(data.get("number"))] = str(data.get("provider"))
        elif record.kind == "call.finished":
            self._finish_call(record)
        elif record.kind == "process.finished" and not is_baseline(data):
            purpose = "build" if is_build(data.get("argv")) else "commands"
            self._add_seconds(purpose, data.get("seconds"))
        elif record.kind == "changes.applied":
            self._changed.update(data.get("written") or (), data.get("deleted") or ())
            self._list_changed()
        elif record.kind == "changes.undone":
            self._changed.difference_update(data.get("paths") or ())
            self._list_changed()
        elif record.kind == "plugin.failed":
            self.fields["plugins_failed"].append(dict(data))
        elif record.kind == "run.finished":
            self._copy(_OF_END, data, state="finished", finished=_utc(record.time))
            self._finish(data)
        self.fields["seconds"]["total"] = round(max(0.0, record.time - self._started), 3)
        return record.kind in _WRITE_AFTER

    def _finish(self, data: Mapping[str, Any]) -> None:
        """Add the prices, and what an earlier version does not log at the end of a run."""
        self.price()
        if "files" in data:
            self.fields["files"] = data["files"] or []
        if self.fields["cost_usd"] is None:
            self.fields["cost_usd"] = data.get("cost_usd")

    def _list_changed(self) -> None:
        """List what the run changed so far. A run that is killed has no better list."""
        self.fields["files"] = [
            {"path": path, "added": None, "removed": None} for path in sorted(self._changed)
        ]

    def _copy(self, names: Iterable[str], data: Mapping[str, Any], **more: str) -> None:
        self.fields |= {name: data.get(name) for name in names} | more

    def _finish_call(self, record: Record) -> None:
        data = record.data
        calls = self.fields["calls"]
        if data.get("error") is not None and data.get("cost_usd") == 0:
            calls["started"] -= 1  # nothing was sent: a limit or a missing key was in the way
            return
        counts = {name: data.get(f"{name}_tokens") for name in _TOKENS}
        calls["finished"] += 1
        calls["failed"] += data.get("error") is not None
        calls["unknown"] += counts["input"] is None or counts["output"] is None
        self._add_seconds("model", data.get("seconds"))
        provider = self._providers.get(_whole(data.get("number")), "")
        row = self._model_row(provider, str(data.get("model")))
        row["calls"] += 1
        for tokens in (self.fields["tokens"], row["tokens"]):
            _add_tokens(tokens, counts)
        self._add_cost(row, data, counts)
        # A call that is free does not make the cost of the run known.
        if cost := data.get("cost_usd"):
            self.fields["cost_usd"] = (self.fields["cost_usd"] or 0.0) + _number(cost)

    def _add_cost(
        self, row: dict[str, Any], data: Mapping[str, Any], counts: Mapping[str, Any]
    ) -> None:
        """Add the cost of a call to the row of its model, or count it as unpriced."""
        cost = data.get("cost_usd")
        if isinstance(cost, int | float):
            row["cost_usd"] = round(row["cost_usd"] + cost, 9)
        elif data.get("error") is not None:
            row["unpriced"] += data.get("error_kind") in _MAY_HAVE_COST
        elif row["provider"] != "replay":
            row["unpriced"] += 1
            self._to_price.append((str(data.get("number")), row, counts))

    def _add_seconds(self, purpose: str, seconds: Any) -> None:
        totals = self.fields["seconds"]
        totals[purpose] = round(totals[purpose] + _number(seconds), 3)

    def _model_row(self, provider: str, model: str) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self.fields["models"]
        for row in rows:
            if (row["provider"], row["model"]) == (provider, model):
                return row
        rows.append({
            "provider": provider,
            "model": model,
            "calls": 0,
            "tokens": dict.fromkeys(_TOKENS),
            "cost_usd": 0.0,
            "unpriced": 0,
        })  # fmt: skip
        return rows[-1]


def run_document(records: Iterable[Record]) -> dict[str, Any]:
    """Return the content of `run.json` after `records`, with the prices of their calls.

    They may be of another version, or end early.
    """
    document = RunDocument()
    for record in records:
        with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            document.receive(record)
    document.price()
    return document.fields


def render_document(fields: Mapping[str, Any]) -> str:
    """Return the text of `run.json`.

    Raises:
        ValueError: a number is not finite.
    """
    return json.dumps(fields, indent=2, allow_nan=False) + "\n"


def describe_cost(document: Mapping[str, Any]) -> str:
    """Return cost, tokens, calls and time of a run for people, or "" without a model call."""
    calls = document["calls"]["finished"]
    if not calls:
        return ""
    parts = _cost(document)
    for name, direction in _DIRECTIONS.items():
        tokens = document["tokens"][name]
        if tokens is not None:
            parts.append(f"{count_of(tokens, 'token')} {direction}")
    parts += [count_of(calls, "call"), clock(document["seconds"]["total"])]
    return ", ".join(parts)


def describe_spent(document: Mapping[str, Any]) -> str:
    """Return the tokens and the cost of a run so far; unknown values are left out."""
    counts = [document["tokens"][name] for name in _DIRECTIONS]
    if all(count is None for count in counts):
        return ", ".join(_cost(document))
    tokens = count_of(sum(filter(None, counts)), "token")
    return ", ".join([tokens, *_cost(document)])


def cost_usd(document: Mapping[str, Any]) -> float | None:
    """Return the cost of a run in USD, or None if the cost of a call is unknown.

    The calls must be priced: see `RunDocument.price`.
    """
    if any(row["unpriced"] for row in document["models"]):
        return None
    usd: float | None = document["cost_usd"]
    if usd is not None:
        return usd
    return sum((row["cost_usd"] for row in document["models"]), start=0.0)


def run_cost(document: Mapping[str, Any]) -> tuple[float, bool]:
    """Return the known cost of a run in USD, and whether the cost of each call is known.

    `document` has the fields of `run.json`, which may contain anything.
    """
    rows = document.get("models")
    rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    calls = document.get("calls")
    if not isinstance(calls, Mapping):
        return 0.0, False
    unfinished = _whole(calls.get("started")) - _whole(calls.get("finished"))
    is_complete = unfinished <= 0 and all(row.get("unpriced") == 0 for row in rows)
    return sum((_number(row.get("cost_usd")) for row in rows), start=0.0), is_complete


def describe_changes(document: Mapping[str, Any]) -> str:
    """Return how many files a run changed and what became of them, or "" if it changed none.

    `document` has the fields of `run.json`, which may contain anything.
    """
    files = document.get("files")
    files = files if isinstance(files, list) else []
    parts = [count_of(len(files), "file")] if files else []
    data = document.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("committed"), str):
        parts.append(f"committed {data['committed'][:_SHORT_ID]}")
    undone = document.get("undone")
    if isinstance(undone, list) and undone:
        paths = [file.get("path") for file in files if isinstance(file, Mapping)]
        is_whole = all(path in undone for path in paths)
        parts.append("undone" if is_whole else "partly undone")
    return ", ".join(parts)


def _cost(document: Mapping[str, Any]) -> list[str]:
    """Return the cost for people, or nothing."""
    usd = cost_usd(document)
    if usd is None or not document["models"]:
        return []
    if 0 < usd < _LEAST_COST:
        return ["less than $0.0001"]
    return [f"${usd:.4f}"]


def clock(seconds: float) -> str:
    """Return a time since the start: 0:07, 12:34, 1:02:03."""
    all_minutes, seconds = divmod(int(max(0, seconds)), 60)
    hours, minutes = divmod(all_minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds:02}"
    return f"{minutes}:{seconds:02}"


def duration(seconds: float | None) -> str:
    """Return a duration for people: 40 ms, 4.2 s, 3:05, 1:02:03; "?" if unknown."""
    if seconds is None:
        return "?"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    return clock(round(seconds))


def _add_tokens(tokens: dict[str, int | None], counts: dict[str, Any]) -> None:
    """Add the tokens of a call. Ignore details without input and output counts."""
    if counts["input"] is None and counts["output"] is None:
        return
    for name, count in counts.items():
        if count is not None:
            tokens[name] = (tokens[name] or 0) + _whole(count)


def _utc(timestamp: float) -> str:
    time = datetime.fromtimestamp(timestamp, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    return 0.0


def _whole(value: Any) -> int:
    if isinstance(value, int):
        return value
    return 0
