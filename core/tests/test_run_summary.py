"""Summaries of earlier runs: killed ones are read once, and `run.json` keeps what was undone."""

from __future__ import annotations

import json
import os
import tracemalloc

import pytest

from code_commit.plugin_api import describe_changes, read_summary, run_cost
from code_commit.plugin_api.run_summary import note_redone, note_undone

NAME = "2026-01-01-00-00-00-committing-code"


def line(kind, seq=1, **data):
    record = {"seq": seq, "time": 1.5 * seq, "run": NAME, "span": 1, "parent": None, "kind": kind}
    return json.dumps(record | {"data": data, "version": 1}) + "\n"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "logs" / NAME
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"state": "running", "query": "old"}')
    return folder


def test_a_killed_run_is_read_once_and_gets_its_document(folder):
    events = [line("run.started", workflow="committing-code"), line("query.read", 2, query="Do it")]
    (folder / "events.jsonl").write_text("".join(events) + '{"seq": 3, "time"')
    first = read_summary(folder)
    assert (first["state"], first["query"], first["seconds"]["total"]) == ("killed", "Do it", 1.5)
    assert json.loads((folder / "run.json").read_text()) == first
    (folder / "events.jsonl").unlink()
    assert read_summary(folder) == first


def test_a_run_under_way_keeps_its_document(folder):
    import fcntl

    (folder / "events.jsonl").write_text(line("run.started", workflow="committing-code"))
    handle = os.open(folder / "events.jsonl", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        assert read_summary(folder)["state"] == "running"
    finally:
        os.close(handle)
    assert '"query": "old"' in (folder / "run.json").read_text()


def test_a_long_log_is_read_as_a_stream(folder):
    with (folder / "events.jsonl").open("w") as events:
        events.write(line("run.started", workflow="committing-code"))
        for seq in range(2, 4000):
            events.write(line("message", seq, text="x" * 5000, level="info"))
    tracemalloc.start()
    try:
        assert read_summary(folder)["state"] == "killed"
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_the_document_tells_what_was_undone(folder):
    files = [{"path": path, "added": 1, "removed": 0} for path in ("a.py", "b.py")]
    end = {"outcome": "reached", "files": files, "data": {"committed": "0123456789abcdef"}}
    (folder / "events.jsonl").write_text(
        line("run.started", workflow="committing-code") + line("run.finished", 2, **end)
    )
    words = [describe_changes(read_summary(folder))]
    for change, paths in (
        (note_undone, ("a.py",)),
        (note_undone, ("b.py", "made.txt")),
        (note_redone, ("b.py", "a.py", "made.txt")),
    ):
        change(folder, paths)
        words.append(describe_changes(read_summary(folder)))
    assert words == [
        "2 files, committed 0123456",
        "2 files, committed 0123456, partly undone",
        "2 files, committed 0123456, undone",
        "2 files, committed 0123456",
    ]


@pytest.mark.parametrize(
    "document",
    [{}, {"calls": 5, "models": {}}, {"calls": {}, "models": [5, {"cost_usd": "much"}]},
     {"files": 5, "undone": 7, "data": []}, {"files": [5], "undone": [6], "data": {"committed": 7}}],
)  # fmt: skip
def test_any_document_has_a_cost_and_changes(document):
    assert run_cost(document)[0] == 0.0
    assert isinstance(describe_changes(document), str)


def test_the_cost_of_a_run_is_priced_call_by_call(folder):
    tokens = {"input_tokens": 150_000, "output_tokens": 100}
    calls = [("gemini-2.5-pro", tokens), ("gemini-2.5-pro", tokens), ("nobody-9", tokens)]
    events = [line("run.started", workflow="committing-code")]
    for number, (model, usage) in enumerate(calls, 1):
        events.append(line("call.started", 2 * number, number=number, provider="p"))
        events.append(
            line(
                "call.finished", 2 * number + 1, number=number, model=model, seconds=0.001, **usage
            )
        )
    (folder / "events.jsonl").write_text("".join(events))
    gemini, nobody = read_summary(folder)["models"]
    # Twice the price of 150,000 tokens: above 200,000 in one call, each token costs more.
    assert gemini["cost_usd"] == pytest.approx(2 * (0.15 * 1.25 + 0.0001 * 10))
    assert (gemini["unpriced"], nobody["unpriced"], nobody["cost_usd"]) == (0, 1, 0.0)
    assert run_cost(read_summary(folder)) == (gemini["cost_usd"], False)
