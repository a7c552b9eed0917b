"""A streamed reply as it arrives: what programs and people see of it, piece by piece."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from queue import SimpleQueue
from typing import Any

import pytest

from code_commit.models.received_reply import ReceivedReply
from code_commit.plugin_api import (
    Completion,
    Delta,
    Record,
    StopReading,
    StreamEvent,
    Usage,
    estimate_tokens,
    read_records,
)
from code_commit_testing import model_call


class Live:
    """A sink that gets each event about what arrives, also those that no program gets."""

    live = True

    def __init__(self) -> None:
        self.seen: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def receive(self, record: Record) -> None:
        if record.kind == "call.progress":
            self.seen.put(dict(record.data))

    def close(self) -> None:
        pass


@pytest.fixture
def receive(log):
    """Return a function that takes pieces one after the other, and returns the event about each."""
    sink = Live()
    log.add_sink("code-commit", sink)
    files = log.call_files(1, "ask")

    def receive(
        *pieces: str | tuple[str, str], print_text=None, watch=None
    ) -> tuple[ReceivedReply, list[dict]]:
        reply, seen = ReceivedReply(1, files, log, print_text, watch), []
        for index, piece in enumerate(pieces):
            kind, text = ("text", piece) if isinstance(piece, str) else piece
            reply.take(StreamEvent("", b'{"n": %d}' % index))
            reply.take(Delta(kind, text))
            seen.append(sink.seen.get(timeout=60))
        return reply, seen

    return receive


def test_what_arrived_is_counted_with_what_came_before(receive):
    _, seen = receive("one two three ", ("thinking", "four"), "five " * 2000)
    assert [event["characters"] for event in seen] == [14, 18, 10_018]
    first, second, third = (event["tokens"] for event in seen)
    assert (first, second) == (estimate_tokens("one two three "), first + estimate_tokens("four"))
    assert third - second == pytest.approx(estimate_tokens("five " * 2000), rel=0.01)
    assert seen[0]["seconds"] == 0.0 < seen[2]["seconds"] == round(seen[2]["seconds"], 3)
    assert [event["thinking"] for event in seen] == [False, True, False]
    assert {event["number"] for event in seen} == {1}


def test_programs_get_an_event_each_second_and_people_each_piece(receive, log, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("code_commit.models.reply_progress.time.monotonic", lambda: now[0])

    def half_a_second_passes(_text: str) -> None:
        now[0] += 0.5

    _, seen = receive(
        "one\n", "two\n", "three\n", "four\n", "five\n", print_text=half_a_second_passes
    )
    assert [event["seconds"] for event in seen] == [0.0, 0.5, 1.0, 1.5, 2.0]
    recorded = [
        record.data["seconds"]
        for record in read_records(log.folder / "events.jsonl")
        if "printed" in record.data
    ]
    assert recorded == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("pieces", "files"),
    [
        (
            ["^^^src/a.py\nx\n", "y\n", "^^^end\nwords", "\n^^^m\n"],
            ["src/a.py", "src/a.py", None, "m"],
        ),
        (["^^^a\n^^^de", "lete\n", "^^^end\n"], ["a", "a", None]),
        (["words ^^^a\n", "^^", "^ m \n", "^^^c"], [None, None, "m", "m"]),
        (
            ["^^^" + "x" * 999 + "\n", "^^^end\n", "^^^" + "x" * 1000 + "\n"],
            ["x" * 999, None, None],
        ),
        # Of a long line, only the start is looked at.
        (["^" * 3 + "x" * 996, "y" * 500 + "\n"], [None, None]),
    ],
)
def test_the_file_that_the_text_writes_is_named(receive, pieces, files):
    assert [event["file"] for event in receive(*pieces)[1]] == files


def test_words_are_printed_and_thoughts_end_their_line(receive):
    printed: list[str] = []
    reply, seen = receive(
        "one",
        ("thinking", "hm"),
        ("thinking", "hm"),
        "three\n",
        ("tool", "{}"),
        print_text=printed.append,
    )
    assert printed == ["one", "\n", "three\n"]
    assert [event["printed"] for event in seen] == [True, False, False, True, False]
    reply.end("not again")
    assert printed == ["one", "\n", "three\n"]


def test_what_comes_first_is_no_empty_line(receive):
    printed: list[str] = []
    reply, seen = receive(("thinking", "hm"), print_text=printed.append)
    assert reply.lost_tries == 0
    reply.end("whole")
    assert (printed, seen[0]["printed"]) == (["whole", "\n"], False)


def test_nothing_is_printed_where_nobody_asked(receive):
    reply, seen = receive("one", ("thinking", "hm"))
    reply.end("one")
    assert [event["printed"] for event in seen] == [False, False]


def test_a_lost_try_keeps_its_files_and_the_next_begins_anew(receive, log):
    reply, _ = receive("^^^a\nlost")
    reply.begin_next_try()
    assert (reply.lost_tries, reply.kept.has_text) == (1, False)
    assert (log.folder / "1-ask-response-try-1.txt").read_text() == "^^^a\nlost"
    assert (log.folder / "1-ask-response-try-1.json").read_text() == '[\n{"n": 0}\n]\n'
    reply.take(Delta("text", "again"))
    reply.end()
    assert (log.folder / "1-ask-response.txt").read_text() == "again"


def stopped(reply: ReceivedReply, text: str, usage: Usage | None) -> Completion:
    with pytest.raises(StopReading) as caught:
        reply.take(Delta("text", text))
    return caught.value.completion(model_call("one two three four five"), usage)


@pytest.mark.parametrize(
    ("usage", "read", "written"),
    [
        (None, {5, 6, 7}, {138}),
        (Usage(input=100, output=1, cache_read=50), {100}, {138}),
        (Usage(input=0, output=900), {0}, {900}),
    ],
)
def test_a_reply_that_decides_is_stopped_with_what_arrived(receive, usage, read, written):
    reply, _ = receive(
        "one ", ("thinking", "hm"), watch=lambda: lambda text: 2 if "two" in text else None
    )
    completion = stopped(reply, "two" * 100, usage)  # all of it counts
    assert completion.text == "one " + "two" * 100
    assert (completion.finish.value, completion.model) == ("stopped_early", "scripted")
    assert (completion.finish_detail, completion.raw) == ("stop_early, tokens are estimated", {})
    assert completion.usage.input in read
    assert completion.usage.output in written
    assert completion.usage.cache_read == (usage and usage.cache_read)


@pytest.mark.parametrize("watched", [True, False])
def test_a_watched_reply_with_a_key_is_stopped(receive, key, watched):
    reply, _ = receive("the key is ", watch=(lambda: lambda _text: None) if watched else None)
    # Another thread searches for the key, and may not have found it yet.
    with suppress(StopReading):
        reply.take(Delta("text", key))
    reply.end()
    with pytest.raises(StopReading) if watched else nullcontext():
        reply.take(Delta("text", "on"))
