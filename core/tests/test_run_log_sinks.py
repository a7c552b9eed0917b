"""Log sinks: what one plugin's sink does is its own affair."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from code_commit.log.json_lines import JsonLines
from code_commit.log.run_log import RunLog
from code_commit.plugin_api import read_records
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit.plugin_api.event import StateEntered
from code_commit.plugin_api.record import Record
from code_commit.threads import Worker
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.words import describe


class Sink:
    """Keeps what it gets, then does what the test says."""

    def __init__(
        self,
        act: Callable[[Record], object] = lambda _: None,
        at_close: Callable[[], object] = lambda: None,
    ):
        self.seen: list[str] = []
        self.closed = 0
        self._act, self._at_close = act, at_close

    def receive(self, record: Record) -> object:
        self.seen.append(record.data.get("state", record.kind))
        return self._act(record)

    def close(self) -> object:
        self.closed += 1
        return self._at_close()


def raising(error: BaseException) -> Callable[..., object]:
    def act(*_: object) -> None:
        raise error

    return act


@pytest.fixture
def log(tmp_path: Path) -> RunLog:
    return RunLog(tmp_path, "committing-code", redactor=Redactor())


def failures(log: RunLog) -> list[str]:
    return [
        f"{record.data['distribution']}: {record.data['stage']}: {record.data['error']}"
        for record in read_records(log.folder / "events.jsonl")
        if record.kind == "plugin.failed"
    ]


def test_the_end_is_the_last_record_also_where_it_cannot_be_written(log):
    sink = Sink()
    log.add_sink("tests", sink)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._events._file._handle)
    os.close(full)
    log.finish(ExitCode.REACHED, "")
    [late] = log.late_failures
    assert (late.plugin, sink.seen[-1]) == ("events.jsonl", "run.finished")


def test_a_failure_reaches_the_other_sinks_at_once(log):
    sink = Sink()
    log.add_sink("tests", sink)
    log.add_sink("fails", Sink(raising(RuntimeError("x"))))
    assert sink.seen[-1] == "plugin.failed"


def test_a_failure_that_comes_too_late_for_an_event_shows_no_key(tmp_path):
    log = RunLog(tmp_path, "committing-code", redactor=Redactor(["sk-canary-0123456789"]))
    log.add_sink("tests", Sink(at_close=raising(RuntimeError("with sk-canary-0123456789"))))
    log.finish(ExitCode.REACHED, "")
    [late] = log.late_failures
    assert late.error == "RuntimeError: with ***89"


def test_an_event_that_is_only_shown_reaches_the_sinks_that_show(log):
    class Live(Sink):
        live = True

    shown: list[Record] = []
    live, plain = Live(shown.append), Sink()
    log.add_sink("live", live)
    log.add_sink("other", plain)
    log.show(StateEntered("now"))
    log.finish(ExitCode.REACHED, "")
    assert (live.seen, plain.seen) == (
        ["run.started", "now", "run.finished"],
        ["run.started", "run.finished"],
    )
    now = shown[1]
    assert (now.seq, now.run, now.span, now.parent, now.version) == (0, log.run, 0, None, 1)
    assert shown[0].time <= now.time <= shown[2].time
    assert [record.kind for record in read_records(log.folder / "events.jsonl")] == [
        "run.started",
        "run.finished",
    ]


def test_a_failure_names_the_plugin_or_the_class_and_shows_the_hint(log):
    log.add_sink("tests", Sink(raising(NotReady("no room", hint="make some"))))
    log.add_sink("tests", Sink(raising(ValueError("bad"))), plugin="the-plugin")
    log.finish(ExitCode.REACHED, "")
    reported = [
        record.data
        for record in read_records(log.folder / "events.jsonl")
        if record.kind == "plugin.failed"
    ]
    assert [failure["plugin"] for failure in reported] == ["Sink", "the-plugin"]
    assert "make some" in reported[0]["error"]


def test_what_is_no_sink_is_dropped_and_told(log):
    log.add_sink("tests", object())
    log.emit(StateEntered("on"))
    log.finish(ExitCode.REACHED, "")
    (failure,) = failures(log)
    assert failure.startswith("tests: log sink: receive: AttributeError")


def test_lines_that_cannot_be_written_are_a_failure_and_a_reader_who_left_is_none(log):
    with Path("/dev/full").open("w") as full:
        log.add_sink("full", JsonLines(full))
        ear, mouth = os.pipe()
        os.close(ear)
        with os.fdopen(mouth, "w") as left:
            log.add_sink("left", JsonLines(left))
            log.emit(StateEntered("on"))
            log.finish(ExitCode.REACHED, "")
    (failure,) = failures(log)
    assert failure.startswith("full: log sink: receive: OSError")


def test_a_sink_gets_everything_from_the_first_record_on(log):
    log.emit(StateEntered("before"))
    sink = Sink()
    log.add_sink("tests", sink)
    log.emit(StateEntered("after"))
    log.finish(ExitCode.REACHED, "")
    assert sink.seen == ["run.started", "before", "after", "run.finished"]
    assert sink.closed == 1


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit("bad"), OSError("bad")])
def test_a_sink_that_fails_is_reported_once_and_dropped(log, error):
    good, bad = Sink(), Sink(raising(error))
    log.add_sink("good", good)
    log.add_sink("bad", bad)
    log.emit(StateEntered("x"))
    log.finish(ExitCode.REACHED, "")
    assert log.late_failures == []
    assert failures(log) == [f"bad: log sink: receive: {type(error).__name__}: bad"]
    assert bad.seen == ["run.started"]
    assert good.seen == ["run.started", "plugin.failed", "x", "run.finished"]
    assert (good.closed, bad.closed) == (1, 1)
    assert len(log.sink_traces) == 1  # for --debug
    assert "Traceback" in log.sink_traces[0]


async def _later(*_: object) -> None:
    raise AssertionError("nobody waits for it")


@pytest.mark.parametrize(
    ("act", "close", "where"), [(_later, None, "receive"), (lambda _: None, _later, "close")]
)
def test_an_async_sink_is_reported(log, act, close, where):
    log.add_sink("bad", Sink(act, close or (lambda: None)))
    log.finish(ExitCode.REACHED, "")
    late = log.late_failures
    errors = [
        *failures(log),
        *(f"{failure.distribution}: {failure.stage}: {failure.error}" for failure in late),
    ]
    assert errors == [f"bad: log sink: {where}: TypeError: it is async; use a plain function"]


def test_an_error_that_cannot_even_be_printed_is_reported(log):
    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    log.add_sink("bad", Sink(raising(UnprintableError())))
    assert failures(log) == ["bad: log sink: receive: UnprintableError"]
    log.finish(ExitCode.REACHED, "")


def test_a_failure_too_late_for_an_event_is_returned(log):
    at_the_end = Sink(
        lambda record: raising(ValueError("late"))() if record.kind == "run.finished" else None
    )
    at_close = Sink(at_close=raising(ValueError("close")))
    log.add_sink("first", at_the_end)
    log.add_sink("second", at_close)
    log.finish(ExitCode.REACHED, "")
    late = log.late_failures
    assert [(failure.distribution, failure.error) for failure in late] == [
        ("first", "ValueError: late"),
        ("second", "ValueError: close"),
    ]
    assert [record.kind for record in read_records(log.folder / "events.jsonl")] == [
        "run.started",
        "run.finished",
    ]


def test_a_sink_that_emits_is_dropped(log):
    log.add_sink("bad", Sink(lambda _: log.emit(StateEntered("recursion"))))
    log.finish(ExitCode.REACHED, "")
    assert failures(log) == [
        "bad: log sink: receive: RuntimeError: a log sink must not emit events"
    ]


def test_a_sink_that_waits_for_an_emitting_thread_does_not_block(log):
    def emit_elsewhere(record: Record) -> None:
        if record.kind == "run.started":
            thread = threading.Thread(
                target=log.emit, args=(StateEntered("elsewhere"),), daemon=True
            )
            thread.start()
            thread.join(timeout=60)
            assert not thread.is_alive()

    sink = Sink(emit_elsewhere)
    log.add_sink("odd", sink)
    log.finish(ExitCode.REACHED, "")
    assert sink.seen == ["run.started", "elsewhere", "run.finished"]


def test_a_sink_that_never_returns_does_not_hold_the_end(log, monkeypatch):
    monkeypatch.setattr("code_commit.log.sinks._BUSY_SECONDS", 0.01)
    entered, release = threading.Event(), threading.Event()

    def hang(record: Record) -> None:
        if record.kind == "state.entered":
            entered.set()
            release.wait(timeout=60)

    good = Sink()
    log.add_sink("stuck", Sink(hang))
    log.add_sink("good", good)
    stuck = threading.Thread(target=log.emit, args=(StateEntered("x"),))
    stuck.start()
    assert entered.wait(timeout=60)
    log.finish(ExitCode.REACHED, "")
    late = log.late_failures
    release.set()
    stuck.join(timeout=60)
    assert [failure.distribution for failure in late] == ["stuck"]
    assert good.seen[-1] == "run.finished"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), SystemExit(0)])
def test_whatever_a_sink_raises_is_its_own_affair(log, error):
    log.add_sink("odd", Sink(raising(error)))
    log.finish(ExitCode.REACHED, "")
    assert failures(log) == [f"odd: log sink: receive: {describe(error)}"]


@pytest.mark.parametrize("sink", [None, 42, type("NoClose", (), {"receive": lambda *_: None})()])
def test_what_is_no_sink_is_told(log, sink):
    log.add_sink("odd", sink)
    log.finish(ExitCode.REACHED, "")
    late = log.late_failures
    errors = failures(log) + [failure.error for failure in late]
    assert len(errors) == 1
    assert "AttributeError" in errors[0]


@pytest.mark.parametrize("method", ["receive", "close"])
def test_a_sink_that_never_comes_back_costs_a_bounded_wait(log, monkeypatch, method):
    free = threading.Event()
    wait = Worker.call
    called = []
    hanging = Sink(**{"act" if method == "receive" else "at_close": lambda *_: free.wait(60)})

    def impatient(
        worker: Worker, function: partial, *, seconds: float, after_signal: float
    ) -> object:
        if function.args[0].sink is hanging:
            called.append(function.args[1])
            seconds = 0.05 if method in called else seconds
        return wait(worker, function, seconds=seconds, after_signal=after_signal)

    monkeypatch.setattr(Worker, "call", impatient)
    good = Sink()
    log.add_sink("hanging", hanging)
    log.add_sink("good", good)
    log.emit(StateEntered("x"))
    log.finish(ExitCode.REACHED, "")
    late = log.late_failures
    free.set()
    errors = failures(log) + [
        f"{failure.distribution}: {failure.stage}: {failure.error}" for failure in late
    ]
    assert errors == [f"hanging: log sink: {method}: it did not end within 0.05 s"]
    assert called.index(method) == len(called) - 1  # nothing more is called of it
    assert (good.seen, good.closed) == (
        ["run.started", *(["plugin.failed"] if method == "receive" else []), "x", "run.finished"],
        1,
    )


SCRIPT = """
import os, sys
from pathlib import Path
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.event import MessageLogged
from code_commit_workspace.keys.redaction import Redactor
from code_commit.log.run_log import RunLog
from code_commit.log.json_lines import JsonLines
log = RunLog(Path(sys.argv[1]), "committing-code", redactor=Redactor())
log.add_sink("code-commit", JsonLines(sys.stdout))
sys.stdin.readline()
log.emit(MessageLogged("\\x1b[31m\\u2028" + "x" * 100_000))
log.finish(ExitCode.NOT_REACHED, "red")
sys.exit(1)
"""


@pytest.mark.slow
def test_json_lines_are_the_events_file(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path],
        check=False,
        capture_output=True,
        input=b"\n",
        timeout=60,
    )
    (events,) = tmp_path.glob("logs/*/events.jsonl")
    assert ended.stdout == events.read_bytes()
    assert json.loads(ended.stdout.splitlines()[-1])["kind"] == "run.finished"
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.mark.slow
def test_json_lines_do_not_mind_a_reader_that_leaves(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with child:
        assert child.stdout.readline().startswith(b'{"seq":1,')
        child.stdout.close()
        child.stdin.write(b"\n")
        child.stdin.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=60) == 1
    (events,) = tmp_path.glob("logs/*/events.jsonl")
    assert [record.kind for record in read_records(events)] == [
        "run.started",
        "message",
        "run.finished",
    ]


def test_json_lines_do_not_mind_a_closed_stdout(log):
    log.add_sink("code-commit", JsonLines(None))
    log.emit(StateEntered("x"))
    log.finish(ExitCode.REACHED, "")
    assert log.late_failures == []
    assert failures(log) == []
