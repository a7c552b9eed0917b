"""The status line: what runs and since when, tokens and cost so far, and how far a streamed reply
is.
"""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from code_commit.log.json_lines import data_of
from code_commit.log.progress import Progress
from code_commit.plugin_api import event as events
from code_commit.plugin_api.event import Event
from code_commit.plugin_api.record import Record
from code_commit.plugin_api.running_code import host_works, running
from code_commit.terminal.painter import PlainPainter
from code_commit.terminal.streams import SafeStream

BUILD = ("bash", "build.sh")
BUILDING = events.ProcessStarted(BUILD, "bubblewrap", log="1-build.txt")
ASKED = events.CallStarted(
    1,
    "query",
    provider="openai",
    model="gpt-5",
    address="https://x",
    key_source="",
    request="1.txt",
)


class Terminal(io.StringIO):
    """A terminal on which nothing is painted but on events, at times that the test sets."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, columns: int = 100, *, live: bool = True, **environ
    ) -> None:
        super().__init__()
        self.now, self.live = 0.0, live
        monkeypatch.setattr("code_commit.log.progress._REPAINT", 3600)
        monkeypatch.setattr("code_commit.log.progress.time.monotonic", lambda: self.now)
        monkeypatch.setenv("COLUMNS", str(columns))
        self.progress = Progress(self, {"TERM": "xterm", **(environ or {"NO_COLOR": "1"})})

    def isatty(self) -> bool:
        return self.live

    def receive(self, event: Event, at: float) -> str:
        """Return what is written about an event."""
        before, self.now = len(self.getvalue()), at
        self.progress.receive(Record(1, 1000.0 + at, "run", 1, None, event.kind, data_of(event)))
        return self.getvalue()[before:]


@pytest.fixture
def terminal(monkeypatch):
    terminal = Terminal(monkeypatch)
    yield terminal
    terminal.progress.close()


@pytest.mark.parametrize(
    ("arrived", "shown"),
    [
        (events.CallProgress(1, 7, characters=30, seconds=0.2), "7 tokens"),
        (events.CallProgress(1, 1200, characters=5000, seconds=10.0), "1,200 tokens (120/s)"),
        (
            events.CallProgress(1, 1200, characters=5000, seconds=10.0, thinking=True),
            "thinking, 1,200 tokens (120/s)",
        ),
        (
            events.CallProgress(1, 1200, characters=5000, seconds=10.0, file="src/a.py"),
            "writing src/a.py, 1,200 tokens (120/s)",
        ),
        (
            events.CallProgress(1, 9, characters=30, seconds=0.5, file="\x1b[2Jb\u202e"),
            "writing \\x1b[2Jb\\u202e, 9 tokens",
        ),
    ],
)
def test_the_line_tells_what_arrived(terminal, arrived, shown):
    terminal.receive(ASKED, 0)
    assert terminal.receive(arrived, 12).endswith(f"[0:12] asking gpt-5... 12 s: {shown}")


def test_an_activity_is_shown_once_it_takes_long_enough_to_be_read(terminal):
    terminal.receive(BUILDING, 10)
    assert terminal.receive(events.MessageLogged("soon"), 10.04).endswith("soon\n")
    assert terminal.receive(events.MessageLogged("later"), 10.06).endswith(
        "later\n[0:10] build... 0 s"
    )


def test_the_first_token_is_shown_however_soon_it_arrives(terminal):
    terminal.receive(ASKED, 0)
    assert terminal.receive(events.CallProgress(1, 1, characters=4, seconds=0.0), 0.001).endswith(
        "asking gpt-5... 0 s: 1 token"
    )


def test_a_retry_begins_anew_and_the_end_removes_the_line(terminal):
    terminal.receive(ASKED, 0)
    terminal.receive(events.CallProgress(1, 70, characters=300, seconds=0.2), 1)
    assert terminal.receive(events.CallRetried(1, 1, wait=0.5, reason="lost"), 2).endswith(
        "asking gpt-5... 2 s"
    )
    terminal.receive(events.CallProgress(1, 5, characters=20, seconds=0.2), 3)
    ended = terminal.receive(
        events.CallFinished(
            1,
            "query",
            model="gpt-5",
            finish="stop",
            finish_detail="stop",
            seconds=4.0,
            input_tokens=1,
            output_tokens=2,
        ),
        4,
    )
    assert ended.endswith("gpt-5 answered in 4.0 s, 1 token in, 2 tokens out\n")


def test_the_line_is_away_while_words_are_printed(terminal):
    terminal.receive(ASKED, 0)
    terminal.receive(events.CallProgress(1, 5, characters=20, seconds=0.2, thinking=True), 1)
    assert terminal.receive(
        events.CallProgress(1, 9, characters=40, seconds=0.9, printed=True), 2
    ).endswith("\r\x1b[2K")
    assert terminal.receive(events.CallProgress(1, 12, characters=50, seconds=1.0), 3).endswith(
        "12 tokens (12/s)"
    )


def test_what_runs_at_the_same_time_is_told_together(terminal):
    terminal.receive(ASKED, 0)
    terminal.receive(
        events.CallStarted(
            2, "query", provider="openai", model="gpt-6", address="", key_source="", request="2.txt"
        ),
        1,
    )
    terminal.receive(BUILDING, 2)
    assert terminal.receive(events.CallProgress(2, 5, characters=20, seconds=0.2), 3).endswith(
        "[0:03] asking gpt-5... 3 s, asking gpt-6... 2 s: 5 tokens, build... 1 s"
    )
    failed = events.CallFinished(
        1,
        "query",
        model="gpt-5",
        finish=None,
        finish_detail="",
        seconds=4.0,
        input_tokens=None,
        output_tokens=None,
        error="no",
    )
    assert terminal.receive(failed, 4).endswith(
        "\n[0:04] asking gpt-6... 3 s: 5 tokens, build... 2 s"
    )
    terminal.receive(
        events.ProcessFinished(
            BUILD, 0, seconds=3.0, timed_out=False, tampered=(), log="1-build.txt"
        ),
        5,
    )
    assert terminal.receive(events.MessageLogged("words"), 65).endswith(
        "\n[1:05] asking gpt-6... 64 s: 5 tokens"
    )


def test_more_than_two_calls_at_once_are_told_as_one(terminal):
    terminal.receive(BUILDING, 0)
    for number in (1, 2, 3):
        terminal.receive(replace(ASKED, number=number), number)
    terminal.receive(events.CallProgress(3, 5, characters=20, seconds=0.2), 4)
    line = "[0:05] build... 5 s, waiting for 3 calls... 4 s: 25 tokens (10/s)"
    assert terminal.receive(events.CallProgress(1, 20, characters=80, seconds=2.5), 5).endswith(
        line
    )


def test_the_attempt_is_named_and_the_line_is_away_while_the_person_types(terminal):
    attempt = Record(1, 1000.0, "run", 1, None, "attempt.started", {"number": 2})
    terminal.progress.receive(attempt)
    terminal.receive(ASKED, 0)
    assert terminal.receive(events.MessageLogged("words"), 1).endswith(
        "[0:01] attempt 2, asking gpt-5... 1 s"
    )
    assert terminal.receive(events.QuestionAsked("?"), 2).endswith("\r\x1b[2K")
    assert terminal.receive(events.MessageLogged("words"), 3).endswith("words\n")
    assert terminal.receive(events.QuestionAnswered("!"), 4).endswith(
        "[0:04] attempt 2, asking gpt-5... 4 s"
    )


def test_lines_have_the_color_of_what_they_tell(monkeypatch):
    terminal = Terminal(monkeypatch, COLORTERM="truecolor")
    terminal.receive(events.RunStarted("chat", "/p", folder="logs/run"), 0)
    began = terminal.receive(ASKED, 0)
    assert began.startswith(
        "\x1b[2m[0:00] \x1b[0m\x1b[2mchat, log in logs/run\x1b[0m\n\x1b[2m[0:00] \x1b[0mcall 1"
    )
    for code, color in ((0, 32), (1, 31)):
        ended = events.ProcessFinished(
            BUILD, code, seconds=3.0, timed_out=False, tampered=(), log="l", last_lines="oops"
        )
        assert f"\x1b[{color}mbuild " in terminal.receive(ended, 1)
    assert "\x1b[2mthe last lines of the build:" in terminal.receive(ASKED, 2)
    assert "\x1b[31merror: words" in terminal.receive(events.MessageLogged("words", "error"), 2)
    terminal.progress.close()


def test_late_progress_of_a_call_that_ended_is_ignored(terminal):
    assert terminal.receive(events.CallProgress(1, 5, characters=20, seconds=0.2), 1) == ""


def test_without_a_terminal_nothing_moves(monkeypatch):
    plain = Terminal(monkeypatch, live=False)
    plain.receive(ASKED, 0)
    assert plain.receive(events.CallProgress(1, 5, characters=20, seconds=0.2), 1) == ""
    plain.progress.close()


def test_an_activity_shorter_than_50_ms_is_not_painted(terminal):
    terminal.receive(BUILDING, 0)
    assert "..." not in terminal.receive(events.MessageLogged("words"), 0.049)
    assert "[0:00] build... 0 s" in terminal.receive(events.MessageLogged("words"), 0.051)
    passed = events.ProcessFinished(
        BUILD, 0, seconds=3.0, timed_out=False, tampered=(), log="1-build.txt"
    )
    assert terminal.receive(passed, 3).startswith("\r\x1b[2K")
    assert "\x1b[2K" not in terminal.receive(events.MessageLogged("words"), 4)


@pytest.mark.parametrize(
    ("cost", "spent"),
    [
        (None, "; 1,500 tokens so far"),
        (0.0123, "; 1,500 tokens, $0.0123 so far"),
        (0.00001, "; 1,500 tokens, less than $0.0001 so far"),
    ],
)
def test_the_status_line_tells_tokens_and_cost_so_far_where_they_are_known(terminal, cost, spent):
    terminal.receive(ASKED, 0)
    assert (
        "[0:01] asking gpt-5... 1 s\r" in terminal.receive(events.MessageLogged("words"), 1) + "\r"
    )
    answered = events.CallFinished(
        1,
        "q",
        model="unknown-model",
        finish="stop",
        finish_detail="STOP",
        seconds=12.3,
        input_tokens=1200,
        output_tokens=300,
        cost_usd=cost,
    )
    terminal.receive(answered, 2)
    terminal.receive(BUILDING, 2)
    assert terminal.receive(events.MessageLogged("words"), 65).endswith(
        f"[1:05] build... 63 s{spent}"
    )


@pytest.mark.parametrize("columns", [20, 40])
def test_the_status_line_fits_into_a_narrow_terminal_and_leaves_room_for_the_echo_of_ctrl_c(
    monkeypatch, columns
):
    terminal = Terminal(monkeypatch, columns)
    terminal.receive(
        events.CallStarted(
            1,
            "q",
            provider="gemini",
            model="字" * 50,
            address="https://x",
            key_source="",
            request="1.txt",
        ),
        0,
    )
    status = terminal.receive(events.MessageLogged("words"), 1).split("\n")[-1]
    assert status.startswith("[0:01] asking 字")
    assert sum(1 + (character == "字") for character in status) in {columns - 4, columns - 3}
    terminal.progress.close()


def test_progress_in_a_file_is_lines_of_safe_text():
    stream = io.StringIO()
    painter = PlainPainter(SafeStream(stream))
    painter.print("error: ", "one\n\x1b[2Jtwo", "red")
    painter.status("never shown")
    painter.tick("still\u202e there")
    assert stream.getvalue() == "error: one\n       \\x1b[2Jtwo\nstill\\u202e there\n"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (4.9, "asking gpt-5... 4 s"),
        (5.1, "asking gpt-5... 5 s, in the model layer odd of code-commit-odd... 5 s"),
    ],
)
def test_the_status_line_names_what_hangs(monkeypatch, seconds, shown):
    terminal = Terminal(monkeypatch)
    with running("the workflow odd", "code-commit-odd"), host_works():
        terminal.receive(ASKED, 0)
        with running("the model layer odd", "code-commit-odd"):
            terminal.now = seconds
            assert terminal.progress._status().endswith(shown)
        assert "layer" not in terminal.progress._status()
    terminal.progress.close()
