"""`run.json` as a fold over the records of a run, and its cost and time in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from code_commit.plugin_api.record import Record
from code_commit.plugin_api.run_json import (
    RunDocument,
    clock,
    describe_cost,
    describe_spent,
    duration,
    run_document,
)

NOON = 1_700_000_000.25
NO_TOKENS = dict.fromkeys(("input", "output", "cache_read", "cache_write", "reasoning"))
EMPTY = {
    "version": 1,
    **dict.fromkeys(
        (
            "run",
            "workflow",
            "query",
            "outcome",
            "exit_code",
            "summary",
            "started",
            "finished",
            "cost_usd",
        )
    ),
    **dict.fromkeys(("root", "folder", "commit", "pid")),
    "state": "running",
    "seconds": {"total": 0.0, "model": 0.0, "build": 0.0, "commands": 0.0},
    "attempts": 0,
    "calls": {"started": 0, "finished": 0, "failed": 0, "unknown": 0},
    "tokens": NO_TOKENS,
    "models": [],
    "plugins_failed": [],
    "files": [],
    "undone": [],
    "argv": [],
    "versions": {},
    "data": {},
}
BUILD = ["bash", "build.sh"]
APPLIED = ("changes.applied", {"written": ["b", "a"], "deleted": ["c"]})


def after(*told: tuple[str, dict[str, Any]], at: float = NOON) -> dict[str, Any]:
    return run_document(Record(1, at, "the-run", 1, None, kind, data) for kind, data in told)


def started(number: object = 1, provider: str = "openai") -> tuple[str, dict[str, Any]]:
    return "call.started", {"number": number, "provider": provider}


def finished(model: str = "gpt-5", number: object = 1, **data: Any) -> tuple[str, dict[str, Any]]:
    return "call.finished", {"number": number, "model": model, "seconds": 0.5, **data}


def test_before_the_first_record_everything_is_unknown():
    assert run_document([]) == EMPTY
    assert RunDocument().text() == json.dumps(RunDocument().fields, indent=2) + "\n"


def test_numbers_that_are_not_json_are_not_written():
    document = RunDocument()
    document.receive(Record(1, NOON, "the-run", 1, None, "query.read", {"query": float("nan")}))
    with pytest.raises(ValueError, match="not JSON compliant"):
        document.text()


def test_the_start_and_the_end_of_a_run_are_copied():
    first = {
        "workflow": "chat",
        "root": "/p",
        "folder": "logs/x",
        "commit": "abc",
        "pid": 7,
        "argv": ["a"],
    }
    last = {"outcome": "limit", "exit_code": 6, "summary": "too dear", "data": {"a": 1}}
    failed = {"plugin": "report", "error": "no"}
    copied = (
        ("run.started", {**first, "versions": {"core": "1"}, "token": "t"}),
        ("query.read", {"query": "do it"}),
        ("plugin.failed", failed),
        ("run.finished", last),
    )
    at = {"started": "2023-11-14T22:13:20.250Z", "finished": "2023-11-14T22:13:20.250Z"}
    expected = {
        "run": "the-run",
        "versions": {"core": "1"},
        "query": "do it",
        "plugins_failed": [failed],
    }
    assert after(*copied) == EMPTY | first | last | at | expected | {"state": "finished"}


@pytest.mark.parametrize(
    ("kinds", "attempts"),
    [
        (["call.started", "call.started"], 2),
        (["attempt.started", "call.started", "call.started", "attempt.started"], 2),
    ],
)
def test_an_attempt_is_a_span_or_without_spans_a_call(kinds, attempts):
    assert after(*((kind, {}) for kind in kinds))["attempts"] == attempts


@pytest.mark.parametrize(
    ("told", "calls"),
    [
        (finished(input_tokens=0, output_tokens=0), (1, 1, 0, 0)),
        (finished(input_tokens=1, output_tokens=None), (1, 1, 0, 1)),
        (finished(input_tokens=None, output_tokens=1), (1, 1, 0, 1)),
        (finished(error="lost", cost_usd=None), (1, 1, 1, 1)),
        (finished(error="lost", cost_usd=0.5), (1, 1, 1, 1)),
        (finished(error="a limit", cost_usd=0.0), (0, 0, 0, 0)),  # nothing was sent
        (finished(input_tokens=1, output_tokens=1, cost_usd=0.0), (1, 1, 0, 0)),
    ],
)
def test_how_calls_are_counted(told, calls):
    assert tuple(after(started(), told)["calls"].values()) == calls


def test_tokens_are_summed_for_the_run_and_for_each_model_of_each_provider():
    document = after(
        started(1),
        started(2, "other"),
        started("three"),
        finished(number=1, input_tokens=10, output_tokens=1, cache_read_tokens=3),
        finished(number=1, input_tokens=20, output_tokens=None, cache_write_tokens=4),
        # Details alone count nothing.
        finished(number=2, input_tokens=None, output_tokens=None, reasoning_tokens=5),
        finished(number=3, model="gpt-6", input_tokens="many", output_tokens=7),
    )
    assert document["tokens"] == NO_TOKENS | {
        "input": 30,
        "output": 8,
        "cache_read": 3,
        "cache_write": 4,
    }
    assert [
        (row["provider"], row["model"], row["calls"], row["tokens"]) for row in document["models"]
    ] == [
        (
            "openai",
            "gpt-5",
            2,
            NO_TOKENS | {"input": 30, "output": 1, "cache_read": 3, "cache_write": 4},
        ),
        ("other", "gpt-5", 1, NO_TOKENS),
        ("", "gpt-6", 1, NO_TOKENS | {"input": 0, "output": 7}),
    ]


@pytest.mark.parametrize(
    ("costs", "usd"),
    [((None, 0.0), None), ((0.25, None, 0.5), 0.75), ((0.25, "dear"), 0.25), ((), None)],
)
def test_known_costs_are_summed_and_a_free_call_makes_no_cost_known(costs, usd):
    assert after(*(finished(cost_usd=cost) for cost in costs))["cost_usd"] == usd


def test_seconds_are_those_of_models_builds_and_commands():
    spent = [finished(seconds=0.1), finished(seconds=0.2), finished(seconds="long")]
    spent += [
        ("process.finished", {"argv": argv, "seconds": 0.0004})
        for argv in (BUILD, BUILD, ["ls"], None)
    ]
    spent += [
        ("process.finished", {"argv": argv, "seconds": 1.0004}) for argv in (BUILD, BUILD, ["ls"])
    ]
    assert after(*spent)["seconds"] == {"total": NOON, "model": 0.3, "build": 2.0, "commands": 1.0}
    records = [Record(1, at, "r", 1, None, "run.started", {}) for at in (5.0,)]
    records += [Record(1, at, "r", 1, None, "message", {}) for at in (7.00049, 4.0)]
    assert [run_document(records[:end])["seconds"]["total"] for end in (1, 2, 3)] == [0.0, 2.0, 0.0]


def test_a_record_that_cannot_be_read_costs_only_itself():
    broken = Record(1, 1e30, "the-run", 1, None, "run.started", {})
    document = run_document(
        [broken, Record(2, NOON, "the-run", 1, None, "query.read", {"query": "do it"})]
    )
    assert (document["started"], document["query"]) == (None, "do it")


def test_after_which_records_the_file_is_written():
    kinds = ("run.started", "call.finished", "process.finished", "attempt.finished", "run.finished")
    kinds_without = (
        "call.started",
        "message",
        "call.progress",
        "attempt.started",
        "process.started",
        "query.read",
    )
    due = [
        RunDocument().receive(Record(1, NOON, "r", 1, None, kind, {}))
        for kind in (*kinds, *kinds_without)
    ]
    assert due == [True] * len(kinds) + [False] * len(kinds_without)


COUNTED = finished("nobody-9", input_tokens=1200, output_tokens=300, seconds=2)
PRICED = finished("claude-sonnet-4-5", input_tokens=100_000, output_tokens=10_000, seconds=1)


@pytest.mark.parametrize(
    ("told", "cost", "spent"),
    [
        ([started()], "", ""),
        ([finished()], "1 call, 1:01", ""),
        ([COUNTED], "1,200 tokens in, 300 tokens out, 1 call, 1:01", "1,500 tokens"),
        ([COUNTED, COUNTED], "2,400 tokens in, 600 tokens out, 2 calls, 1:01", "3,000 tokens"),
        ([finished(output_tokens=0)], "0 tokens out, 1 call, 1:01", "0 tokens"),
        ([finished(cost_usd=0.12345)], "$0.1235, 1 call, 1:01", "$0.1235"),
        (
            [PRICED],
            "$0.4500, 100,000 tokens in, 10,000 tokens out, 1 call, 1:01",
            "110,000 tokens, $0.4500",
        ),
        (
            [PRICED, COUNTED],
            "101,200 tokens in, 10,300 tokens out, 2 calls, 1:01",
            "111,500 tokens",
        ),
        (
            [("call.finished", PRICED[1] | {"seconds": 0.001})],
            "$0.4500, 100,000 tokens in, 10,000 tokens out, 1 call, 1:01",
            "110,000 tokens, $0.4500",
        ),
    ],
)
def test_cost_tokens_calls_and_time_in_words(told, cost, spent):
    document = after(*told)
    document["seconds"]["total"] = 61.9
    assert (describe_cost(document), describe_spent(document)) == (cost, spent)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0:00"),
        (7.9, "0:07"),
        (59.9, "0:59"),
        (60, "1:00"),
        (3599, "59:59"),
        (3600, "1:00:00"),
        (3723, "1:02:03"),
    ],
)
def test_a_clock_shows_hours_only_where_there_are_any(seconds, shown):
    assert clock(seconds) == shown


def test_durations_are_formatted():
    assert [duration(seconds) for seconds in (None, 0.04, 4.21, 185, 3723)] == [
        "?",
        "40 ms",
        "4.2 s",
        "3:05",
        "1:02:03",
    ]


def test_a_run_without_an_end_has_the_files_that_it_changed():
    undone = ("changes.undone", {"paths": ["a", "c"]})
    assert [file["path"] for file in after(APPLIED)["files"]] == ["a", "b", "c"]
    assert after(APPLIED, undone)["files"] == [{"path": "b", "added": None, "removed": None}]
    assert after(APPLIED, ("run.finished", {"files": []}))["files"] == []
