"""What a person sees on stderr about each event: plain lines, and nothing hostile."""

from __future__ import annotations

import io
import re
import threading
from dataclasses import replace

import pytest

from code_commit.log.json_lines import data_of
from code_commit.log.progress import Progress
from code_commit.plugin_api import event as events
from code_commit.plugin_api.event import Event
from code_commit.plugin_api.record import Record

ASKED = events.CallStarted(
    1,
    "initial-query",
    provider="gemini",
    model="gemini-2.5-pro",
    address="https://x",
    key_source="key from a file",
    request="1.txt",
)
ANSWERED = events.CallFinished(
    1,
    "initial-query",
    model="gemini-2.5-pro",
    finish="stop",
    finish_detail="STOP",
    seconds=12.34,
    input_tokens=1200,
    output_tokens=300,
)
BUILDING = events.ProcessStarted(("bash", "build.sh"), "bubblewrap", log="1-build.txt")
BUILD = ("bash", "build.sh")


def record(event: Event, at: float = 0.0) -> Record:
    return Record(1, 1000.0 + at, "run", 1, None, event.kind, data_of(event))


def shown(*told: Event, workflow_reports: bool = False) -> list[str]:
    stream = io.StringIO()
    progress = Progress(stream, {}, workflow_reports=workflow_reports)
    for seconds, event in enumerate(told):
        progress.receive(record(event, seconds))
    progress.close()
    return stream.getvalue().splitlines()


def answer(**fields: object) -> Event:
    """Return the end of a call of gpt-5."""
    defaults = {"finish": None, "finish_detail": "", "input_tokens": None, "output_tokens": None}
    return events.CallFinished(1, "q", model="gpt-5", seconds=1.0, **{**defaults, **fields})


def ended(argv: tuple[str, ...], exit_code: int | None, **fields: object) -> Event:
    """Return the end of a process."""
    defaults = {"timed_out": False, "tampered": (), "log": "l"}
    return events.ProcessFinished(argv, exit_code, seconds=3.0, **{**defaults, **fields})


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ASKED, "call 1, initial-query: asking gemini-2.5-pro (https://x, key from a file)"),
        (ANSWERED, "gemini-2.5-pro answered in 12.3 s, 1,200 tokens in, 300 tokens out"),
        (
            answer(finish="length", finish_detail="max_tokens"),
            "gpt-5 answered in 1.0 s, ended with max_tokens",
        ),
        (
            answer(error="no network"),
            "gpt-5 failed after 1.0 s",
        ),
        (
            answer(error="interrupted"),
            "gpt-5 interrupted after 1.0 s",
        ),
        (
            answer(input_tokens=0, output_tokens=0, cost_usd=0.0, error="a limit"),
            "gpt-5 was not called",
        ),
        (
            answer(finish="tool_calls", finish_detail="x", input_tokens=0, output_tokens=5),
            "gpt-5 answered in 1.0 s, 5 tokens out",
        ),
        (
            answer(finish="paused", input_tokens=5, output_tokens=0),
            "gpt-5 answered in 1.0 s, 5 tokens in, ended with paused",
        ),
        (replace(ASKED, address="", key_source=""), "call 1, initial-query: asking gemini-2.5-pro"),
        (replace(ASKED, key_source=""), "call 1, initial-query: asking gemini-2.5-pro (https://x)"),
        (events.CallRetried(1, 2, wait=0.5, reason="503"), "try 2 failed: 503; next in 0.5 s"),
        (events.CallRetried(1, 2, wait="soon", reason="503"), "try 2 failed: 503; next in ? s"),
        (events.ChangesApplied(("a",), ()), "1 file written: a"),
        (events.ChangesApplied((), ("a", "b")), "2 files deleted: a, b"),
        (events.ChangesApplied(tuple("abcdefg"), ()), "7 files written: a, b, c, d, e and 2 more"),
        (events.ChangesUndone(("a",), "not reached"), "1 file restored (not reached): a"),
        (events.ChangesUndone((), "not reached"), "nothing to undo (not reached)"),
        (BUILDING, "build (isolated by bubblewrap)"),
        (events.ProcessStarted(("ls", "a b"), "off", log="l"), "ls 'a b' (not isolated)"),
        (events.ProcessStarted(("x" * 80,), "off", log="l"), "x" * 80 + " (not isolated)"),
        (events.ProcessStarted(("x" * 81,), "off", log="l"), "x" * 79 + "… (not isolated)"),
        (
            ended(BUILD, 0),
            "build passed after 3.0 s",
        ),
        (
            ended(BUILD, 2, log="1-build.txt"),
            "build ended with exit code 2 after 3.0 s, see logs/run/1-build.txt",
        ),
        (
            ended(BUILD, None, timed_out=True),
            "build ran into its time limit after 3.0 s, see logs/run/l",
        ),
        (
            ended(BUILD, 0, tampered=("build.sh",)),
            "build changed its own checks: build.sh, see logs/run/l",
        ),
        (
            ended(("ls",), None),
            "ls was ended by a signal after 3.0 s, see logs/run/l",
        ),
        (
            ended(BUILD, 1, timed_out=True, tampered=tuple("abcdef")),
            "build changed its own checks: a, b, c, d, e and 1 more, see logs/run/l",
        ),
        (
            events.ChangesUndone(tuple("abcdef"), "why"),
            "6 files restored (why): a, b, c, d, e and 1 more",
        ),
        (
            events.PluginFailed("report", "", stage="load", error="no"),
            "plugin report failed (load): no",
        ),
        (
            events.PluginFailed("report", "code-commit-report", stage="load", error="no"),
            "plugin report of code-commit-report failed (load): no",
        ),
        (events.MessageLogged("words"), "words"),
        (events.MessageLogged("words", "warning"), "warning: words"),
        (events.StateEntered("DISCOVER"), "state: DISCOVER"),
    ],
)
def test_an_event_is_told_in_a_line(event, line):
    assert shown(event) == [f"[0:00] {line}"]


@pytest.mark.parametrize(
    ("kind", "data", "lines"),
    [
        ("attempt.started", {}, ["attempt"]),
        ("attempt.started", {"number": 2}, ["attempt 2"]),
        ("changes.applied", {}, []),
        ("changes.refused", {"reason": "no block"}, ["response refused: no block"]),
        ("changes.undone", {"reason": "why"}, ["nothing to undo (why)"]),
        (
            "process.finished",
            {"exit_code": 1, "argv": ["ls"], "log": "l"},
            ["ls ended with exit code 1 after ? s, see logs/run/l"],
        ),
        ("call.finished", {"model": "gpt-5", "finish": "stop"}, ["gpt-5 answered in ? s"]),
        ("message", {"text": "words"}, ["words"]),
    ],
)
def test_a_record_without_some_fields_is_told_too(kind, data, lines):
    progress = Progress(stream := io.StringIO(), {})
    progress.receive(Record(1, 7.0, "run", 1, None, kind, data))
    assert stream.getvalue().splitlines() == [f"[0:00] {line}" for line in lines]


def test_refusals_are_listed():
    refused = events.ChangesRefused(
        "a path is not allowed", ({"path": ".git/x", "rule": "git", "reason": "protected"},)
    )
    assert shown(refused) == [
        "[0:00] response refused: a path is not allowed",
        "[0:00]   .git/x: protected",
    ]


def test_refusals_are_told_once():
    rows = (
        {"path": "a", "rule": "place", "reason": "a link"},
        {"path": "b", "rule": "place", "reason": "a folder"},
    )
    refused = events.ChangesRefused("a: a link\nb: a folder", rows)
    assert shown(refused) == [
        "[0:00] response refused:",
        "[0:00]   a: a link",
        "[0:00]   b: a folder",
    ]


def test_lines_bear_the_time_since_the_start():
    stream = io.StringIO()
    progress = Progress(stream, {})
    for at in (0, 65.9, 3723):
        progress.receive(record(events.StateEntered("x"), at))
    assert stream.getvalue().splitlines() == [
        "[0:00] state: x",
        "[1:05] state: x",
        "[1:02:03] state: x",
    ]


def test_text_of_others_can_neither_command_the_terminal_nor_pass_for_a_line_of_ours():
    lines = shown(events.MessageLogged("\x1b]52;c;eA==\x07\u202e\r\x9b\n[0:01] build passed"))
    assert lines == ["[0:00] \\x1b]52;c;eA==\\x07\\u202e\\r\\x9b", "       [0:01] build passed"]


def test_plugins_events_are_none_of_its_business():
    progress = Progress(stream := io.StringIO(), {})
    progress.receive(Record(1, 0.0, "run", 1, None, "planning.thought", {"anything": [1]}))
    progress.close()
    assert stream.getvalue() == ""


def test_a_long_silence_is_broken_where_lines_cannot_be_repainted(monkeypatch):
    monkeypatch.setattr("code_commit.log.progress._PLAIN_TICK", 0.001)
    monkeypatch.setattr("code_commit.log.progress._REPAINT", 3600)  # for terminals
    beats = threading.Semaphore(0)

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            if "..." in text:
                beats.release()
            return super().write(text)

    earlier = {*threading.enumerate()}
    progress = Progress(stream := Stream(), {})
    progress.receive(record(ASKED))
    assert beats.acquire(timeout=60)
    progress.close()
    assert re.search(r"\[0:\d\d\] asking gemini-2\.5-pro\.\.\. \d+ s\n", stream.getvalue())
    assert {*threading.enumerate()} <= earlier


def test_a_stream_that_breaks_is_left_alone():
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    for stream in (Broken(), None):
        progress = Progress(stream, {})
        progress.receive(record(ASKED))
        progress.close()


def test_a_stream_that_cannot_hold_a_character_gets_it_spelled_out():
    progress = Progress(io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii"), {})
    progress.receive(record(events.StateEntered("ünï")))
    assert raw.getvalue() == b"[0:00] state: \\xfcn\\xef\n"


def test_beside_a_workflow_that_narrates_only_what_it_does_not_tell_is_shown():
    again = events.CallStarted(
        2,
        "player",
        provider="gemini",
        model="gemini-2.5-pro",
        address="https://x",
        key_source="key from a file",
        request="2.txt",
    )
    failed = events.CallFinished(
        2,
        "q",
        model="gemini-2.5-pro",
        finish=None,
        finish_detail="",
        seconds=1.0,
        input_tokens=None,
        output_tokens=None,
        error="no network",
    )
    tampered = events.ProcessFinished(
        BUILD, 0, seconds=3.0, timed_out=False, tampered=("build.sh",), log="l"
    )
    passed = events.ProcessFinished(BUILD, 1, seconds=3.0, timed_out=False, tampered=(), log="l")
    lines = shown(
        events.StateEntered("review"),
        ASKED,
        ANSWERED,
        again,
        failed,
        events.ChangesApplied(("a",), ()),
        BUILDING,
        passed,
        tampered,
        events.CallRetried(1, 2, wait=0.5, reason="503"),
        events.MessageLogged("words", "error"),
        workflow_reports=True,
    )
    assert [line.partition("] ")[2] for line in lines] == [
        "asking gemini-2.5-pro (https://x, key from a file)",
        "gemini-2.5-pro failed after 1.0 s",
        "build changed its own checks: build.sh, see logs/run/l",
        "try 2 failed: 503; next in 0.5 s",
        "error: words",
    ]


def test_a_failure_is_explained_when_the_run_goes_on():
    failed = events.CallFinished(
        1,
        "q",
        model="gpt-5",
        finish=None,
        finish_detail="",
        seconds=1.0,
        input_tokens=None,
        output_tokens=None,
        error="no network",
    )
    again = events.CallStarted(
        2, "q", provider="openai", model="gpt-5", address="", key_source="", request="2.txt"
    )
    lines = [line.partition("] ")[2] for line in shown(failed, again, again)]
    assert lines == ["gpt-5 failed after 1.0 s", "  no network", *["call 2, q: asking gpt-5"] * 2]


RED = events.ProcessFinished(
    BUILD, 1, seconds=3.0, timed_out=False, tampered=(), log="1-build.txt", last_lines="one\ntwo"
)


def test_the_last_lines_of_a_red_build_are_shown_when_the_run_goes_on():
    last = ["[0:01] the last lines of the build:", "       one", "       two"]
    again = Record(1, 1001.0, "run", 1, None, "attempt.started", {"number": 2})
    progress = Progress(stream := io.StringIO(), {})
    for build_record in (record(RED), again, again):
        progress.receive(build_record)
    assert stream.getvalue().splitlines()[1:] == [*last, *["[0:01] attempt 2"] * 2]
    assert len(shown(RED, events.MessageLogged("words"))) == 2
    assert len(shown(RED, ASKED, workflow_reports=True)) == 1


STARTED = events.RunStarted("committing-code", "/p", folder="logs/run")


@pytest.mark.parametrize(
    ("then", "lines"),
    [(ASKED, ["committing-code, log in logs/run", "words", "call 1, initial-query: asking"]),
     (events.RunFinished("not_ready", 3, summary="no"), ["words"])],
)  # fmt: skip
def test_the_headline_is_the_first_line_of_a_run_that_begins(then, lines):
    before = [STARTED, events.QueryRead("do it"), events.MessageLogged("words")]
    assert shown(*before) == []
    headlines = [line.partition("] ")[2] for line in shown(*before, then)]
    assert [line[: len(expected)] for line, expected in zip(headlines, lines, strict=True)] == lines


def test_lines_about_one_of_several_calls_name_it_and_tell_its_error():
    def failed(number: int, error: str) -> Event:
        return replace(ANSWERED, number=number, model="gpt-5", finish=None, error=error)

    second, third = (replace(ASKED, number=number, model="gpt-5") for number in (2, 3))
    told = (ASKED, second, third, failed(2, "no service"), failed(3, "cancelled"), ANSWERED, second)
    assert [line.partition("] ")[2] for line in shown(*told)] == [
        "call 1, initial-query: asking gemini-2.5-pro (https://x, key from a file)",
        "call 2, initial-query: asking gpt-5 (https://x, key from a file)",
        "call 3, initial-query: asking gpt-5 (https://x, key from a file)",
        "call 2: gpt-5 failed after 12.3 s",
        "call 2:   no service",
        "call 3: gpt-5 cancelled after 12.3 s",
        "call 1: gemini-2.5-pro answered in 12.3 s, 1,200 tokens in, 300 tokens out",
        "call 2, initial-query: asking gpt-5 (https://x, key from a file)",
    ]
