"""What a person sees on stderr: plain lines anywhere, a status line on a terminal, and nothing hostile on either."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit.log.json_lines import data_of
from code_commit.log.progress import Progress
from code_commit.plugin_api import event as events
from code_commit.plugin_api.event import Event, Record
from code_commit_testing import Project, install_plugin

ASKED = events.CallStarted(1, "initial-query", "gemini", "gemini-2.5-pro", "https://x", "key from a file", "1.txt")
ANSWERED = events.CallFinished(1, "initial-query", "gemini-2.5-pro", "stop", "STOP", 12.34, 1200, 300)
BUILDING = events.ProcessStarted(("bash", "build.sh"), "bubblewrap", "1-build.txt")
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


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (ASKED, "call 1, initial-query: asking gemini-2.5-pro (https://x, key from a file)"),
        (ANSWERED, "gemini-2.5-pro answered in 12.3 s, 1,200 tokens in, 300 tokens out"),
        (
            events.CallFinished(1, "q", "gpt-5", "length", "max_tokens", 1.0, None, None),
            "gpt-5 answered in 1.0 s, ended with max_tokens",
        ),
        (
            events.CallFinished(1, "q", "gpt-5", None, "", 1.0, None, None, error="no network"),
            "gpt-5 failed after 1.0 s",
        ),
        (events.CallRetried(1, 2, 0.5, "503"), "try 2 failed: 503; next in 0.5 s"),
        (events.ChangesApplied(("a",), ()), "1 file written: a"),
        (events.ChangesApplied((), ("a", "b")), "2 files deleted: a, b"),
        (events.ChangesApplied(tuple("abcdefg"), ()), "7 files written: a, b, c, d, e and 2 more"),
        (events.ChangesUndone(("a",), "not reached"), "1 file restored (not reached): a"),
        (events.ChangesUndone((), "not reached"), "nothing to undo (not reached)"),
        (BUILDING, "build (isolated by bubblewrap)"),
        (events.ProcessStarted(("ls", "a b"), "off", "l"), "ls 'a b' (not isolated)"),
        (events.ProcessFinished(BUILD, 0, 3.0, timed_out=False, tampered=(), log="l"), "build passed after 3.0 s"),
        (
            events.ProcessFinished(BUILD, 2, 3.0, timed_out=False, tampered=(), log="1-build.txt"),
            "build failed (exit 2) after 3.0 s, see logs/run/1-build.txt",
        ),
        (
            events.ProcessFinished(BUILD, None, 3.0, timed_out=True, tampered=(), log="l"),
            "build stopped at its time limit after 3.0 s, see logs/run/l",
        ),
        (
            events.ProcessFinished(BUILD, 0, 3.0, timed_out=False, tampered=("build.sh",), log="l"),
            "build changed its own checks: build.sh, see logs/run/l",
        ),
        (events.PluginFailed("report", "code-commit-report", "load", "no"), "plugin report of code-commit-report failed (load): no"),
        (events.MessageLogged("words"), "words"),
        (events.MessageLogged("words", "warning"), "warning: words"),
        (events.StateEntered("DISCOVER"), "state: DISCOVER"),
    ],
)  # fmt: skip
def test_an_event_is_told_in_a_line(event, line):
    assert shown(event) == [f"[0:00] {line}"]


def test_refusals_are_listed():
    refused = events.ChangesRefused(
        "a path is not allowed", ({"path": ".git/x", "rule": "git", "reason": "protected"},)
    )
    assert shown(refused) == ["[0:00] response refused: a path is not allowed", "[0:00]   .git/x: protected"]


def test_refusals_are_told_once():
    rows = ({"path": "a", "rule": "place", "reason": "a link"}, {"path": "b", "rule": "place", "reason": "a folder"})
    refused = events.ChangesRefused("a: a link\nb: a folder", rows)
    assert shown(refused) == ["[0:00] response refused:", "[0:00]   a: a link", "[0:00]   b: a folder"]


def test_lines_bear_the_time_since_the_start():
    stream = io.StringIO()
    progress = Progress(stream, {})
    for at in (0, 65.9, 3723):
        progress.receive(record(events.StateEntered("x"), at))
    assert stream.getvalue().splitlines() == ["[0:00] state: x", "[1:05] state: x", "[1:02:03] state: x"]


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
    beats = threading.Semaphore(0)

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            if "..." in text:
                beats.release()
            return super().write(text)

    progress = Progress(stream := Stream(), {})
    progress.receive(record(ASKED))
    assert beats.acquire(timeout=30)
    progress.close()
    assert "[0:00] asking gemini-2.5-pro... 0 s\n" in stream.getvalue()
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]


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


SCRIPT = """
import os, sys
from code_commit.plugin_api import event as events
from code_commit.plugin_api.event import Record
from code_commit.log.progress import Progress
from code_commit.log.json_lines import data_of
from code_commit.log import progress as module
module._SHORTEST = 0  # seconds
progress = Progress(sys.stderr, os.environ)
def tell(event):
    progress.receive(Record(1, 0.0, "run", 1, None, event.kind, data_of(event)))
tell(events.CallStarted(1, "query", "gemini", "gemini-2.5-pro\\x1b]52;c;eA==\\x07", "https://x", "", "1.txt"))
tell(events.MessageLogged("while it thinks"))
tell(events.QuestionAsked("what next?"))
print("person", end="\\n", file=sys.stderr)
tell(events.QuestionAnswered("person"))
tell(events.CallFinished(1, "query", "gemini-2.5-pro", "stop", "STOP", 12.3, 1200, 300))
tell(events.ProcessStarted(("bash", "build.sh"), "off", "1-build.txt"))
tell(events.MessageLogged("while it builds"))
tell(events.ProcessFinished(("bash", "build.sh"), 1, 3.0, False, (), "1-build.txt"))
progress.close()
print("rich" in sys.modules)
"""


BUILDER = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    flag = Flag(("--just-build",), "build", selects=True)
    return [WorkflowDefinition("just-build", "build", (flag,), "builder_plugin:run", roles=None)]

def run(run):
    return Result(Outcome.REACHED if run.build().exit_code == 0 else Outcome.NOT_REACHED, "built", {})
"""


@pytest.mark.parametrize(("environment", "colored"), [({"NO_COLOR": "1"}, False), ({}, True)])
def test_a_run_on_a_terminal_has_a_status_line_and_colors_unless_they_are_off(tmp_path, environment, colored):
    project = Project.create(tmp_path / "project", build="read -r line < go; exit 1\n")
    plugin = install_plugin(tmp_path / "plugins", "builder", BUILDER)
    os.mkfifo(project.root / "go")
    environ = project.environment({"TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": str(plugin), **environment})
    command = [sys.executable, "-m", "code_commit", "--just-build"]

    def go_on(written: bytes) -> None:
        if b"build... 0 s" in written and not (project.root / "gone").exists():
            (project.root / "gone").touch()
            (project.root / "go").write_text("go\n")

    code, written, _ = written_to_a_terminal(command, environ, cwd=project.root, watch=go_on)
    assert code == 1
    assert "build... 0 s" in written
    assert ("\x1b[31mbuild failed" in written) == colored


def on_a_terminal(**environment: str) -> tuple[str, bool]:
    """Return what the script writes to a terminal, and whether it needed rich for it."""
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    environ = kept | {"TERM": "xterm", "COLUMNS": "80", **environment}
    code, written, stdout = written_to_a_terminal([sys.executable, "-c", SCRIPT], environ)
    assert code == 0
    return written, stdout == b"True\n"


def written_to_a_terminal(
    command: list[str],
    environ: dict[str, str],
    cwd: Path | None = None,
    watch: Callable[[bytes], None] = lambda _: None,
) -> tuple[int, str, bytes]:
    """Return the exit code, what the command writes to a terminal, and its stdout."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environ, cwd=cwd)
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is left to write
        while chunk := os.read(ours, 65536):
            written += chunk
            watch(written)
    os.close(ours)
    with child:
        stdout = child.stdout.read()
    return child.returncode, written.decode(), stdout


def test_a_terminal_shows_what_goes_on():
    written, needed_rich = on_a_terminal()
    assert needed_rich
    assert "[0:00] asking gemini-2.5-pro\\x1b]52;c;eA==\\x07... 0 s" in written
    assert "build... 0 s" in written
    assert "\x1b]" not in written
    assert "\x1b[31mbuild failed" in written


def test_a_terminal_ends_up_with_the_lines_alone():
    screen = rendered(on_a_terminal()[0])
    assert [line.split("] ")[-1] for line in screen] == [
        "call 1, query: asking gemini-2.5-pro\\x1b]52;c;eA==\\x07 (https://x)",
        "while it thinks",
        "person",
        "gemini-2.5-pro answered in 12.3 s, 1,200 tokens in, 300 tokens out",
        "build (not isolated)",
        "while it builds",
        "build failed (exit 1) after 3.0 s, see logs/run/1-build.txt",
    ]


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_terminal_that_wants_plain_text_gets_it(environment):
    written, needed_rich = on_a_terminal(**environment)
    assert not needed_rich
    assert "\x1b" not in written
    assert "build failed (exit 1)" in written


def rendered(written: str) -> list[str]:
    """Play the few sequences that are in use: colours, cursor up, erase line, show and hide the cursor."""
    rows, row, column, index = [""], 0, 0, 0
    while index < len(written):
        character = written[index]
        index += 1
        if character == "\x1b":
            end = next(at for at in range(index + 1, len(written)) if written[at].isalpha())
            code, index = written[index : end + 1], end + 1
            if code == "[2K":
                rows[row] = ""
            elif code == "[1A":
                row -= 1
            else:
                assert code[-1] in "mhl", code
        elif character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        else:
            rows[row] = rows[row].ljust(column)[:column] + character + rows[row][column + 1 :]
            column += 1
    return [line for line in rows if line]


def test_beside_a_workflow_that_narrates_only_what_it_does_not_tell_is_shown():
    again = events.CallStarted(2, "player", "gemini", "gemini-2.5-pro", "https://x", "key from a file", "2.txt")
    failed = events.CallFinished(2, "q", "gemini-2.5-pro", None, "", 1.0, None, None, error="no network")
    tampered = events.ProcessFinished(BUILD, 0, 3.0, timed_out=False, tampered=("build.sh",), log="l")
    passed = events.ProcessFinished(BUILD, 1, 3.0, timed_out=False, tampered=(), log="l")
    lines = shown(
        events.StateEntered("review"), ASKED, ANSWERED, again, failed, events.ChangesApplied(("a",), ()), BUILDING, passed,
        tampered, events.CallRetried(1, 2, 0.5, "503"), events.MessageLogged("words", "error"),
        workflow_reports=True,
    )  # fmt: skip
    assert [line.partition("] ")[2] for line in lines] == [
        "asking gemini-2.5-pro (https://x, key from a file)",
        "gemini-2.5-pro failed after 1.0 s",
        "build changed its own checks: build.sh, see logs/run/l",
        "try 2 failed: 503; next in 0.5 s",
        "error: words",
    ]


def test_a_failure_is_explained_when_the_run_goes_on():
    failed = events.CallFinished(1, "q", "gpt-5", None, "", 1.0, None, None, error="no network")
    again = events.CallStarted(2, "q", "openai", "gpt-5", "", "", "2.txt")
    lines = [line.partition("] ")[2] for line in shown(failed, again, again)]
    assert lines == ["gpt-5 failed after 1.0 s", "  no network", *["call 2, q: asking gpt-5"] * 2]


class Terminal(io.StringIO):
    """A terminal on which nothing is painted but on events, at times that the test sets."""

    def __init__(self, monkeypatch, columns: int = 80) -> None:
        super().__init__()
        self.now = 0.0
        monkeypatch.setattr("code_commit.log.progress._REPAINT", 3600)
        monkeypatch.setattr("code_commit.log.progress.time.monotonic", lambda: self.now)
        monkeypatch.setenv("COLUMNS", str(columns))
        self.progress = Progress(self, {"TERM": "xterm", "NO_COLOR": "1"})

    def isatty(self) -> bool:
        return True

    def receive(self, event: Event, at: float) -> str:
        """Return what is written about an event."""
        before, self.now = len(self.getvalue()), at
        self.progress.receive(record(event, at))
        return self.getvalue()[before:]


def test_an_activity_shorter_than_50_ms_is_not_painted(monkeypatch):
    terminal = Terminal(monkeypatch)
    terminal.receive(BUILDING, 0)
    assert "..." not in terminal.receive(events.MessageLogged("words"), 0.049)
    assert "[0:00] build... 0 s" in terminal.receive(events.MessageLogged("words"), 0.051)
    passed = events.ProcessFinished(BUILD, 0, 3.0, timed_out=False, tampered=(), log="1-build.txt")
    assert terminal.receive(passed, 3).startswith("\r\x1b[2K")
    assert "\x1b[2K" not in terminal.receive(events.MessageLogged("words"), 4)
    terminal.progress.close()


@pytest.mark.parametrize(
    ("cost", "spent"), [(None, "; 1,500 tokens so far"), (0.0123, "; 1,500 tokens, $0.0123 so far")]
)
def test_the_status_line_tells_tokens_and_cost_so_far_where_they_are_known(monkeypatch, cost, spent):
    terminal = Terminal(monkeypatch)
    terminal.receive(ASKED, 0)
    assert "[0:01] asking gemini-2.5-pro... 1 s\r" in terminal.receive(events.MessageLogged("words"), 1) + "\r"
    answered = events.CallFinished(1, "q", "unknown-model", "stop", "STOP", 12.3, 1200, 300, cost_usd=cost)
    terminal.receive(answered, 2)
    terminal.receive(BUILDING, 2)
    assert terminal.receive(events.MessageLogged("words"), 65).endswith(f"[1:05] build... 63 s{spent}")
    terminal.progress.close()


@pytest.mark.parametrize("columns", [20, 40])
def test_the_status_line_fits_into_a_narrow_terminal(monkeypatch, columns):
    terminal = Terminal(monkeypatch, columns)
    terminal.receive(events.CallStarted(1, "q", "gemini", "字" * 50, "https://x", "", "1.txt"), 0)
    status = terminal.receive(events.MessageLogged("words"), 1).split("\n")[-1]
    assert status.startswith("[0:01] asking 字")
    assert sum(1 + (character == "字") for character in status) in {columns - 2, columns - 1}
    terminal.progress.close()


SHRINKING = """
import fcntl, struct, sys, termios
def resize(columns):
    fcntl.ioctl(sys.stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
resize(80)
"""


def test_a_status_line_that_wraps_after_a_resize_is_erased_as_a_whole():
    script = SHRINKING + SCRIPT.replace("tell(events.QuestionAsked", "resize(20)\ntell(events.QuestionAsked")
    environ = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM", "COLUMNS"}}
    code, written, _ = written_to_a_terminal([sys.executable, "-c", script], environ | {"TERM": "xterm"})
    assert code == 0
    assert "\r\x1b[2K" + "\x1b[1A\x1b[2K" * 2 in written  # 59 columns in lines of 20


RED = events.ProcessFinished(BUILD, 1, 3.0, timed_out=False, tampered=(), log="1-build.txt", last_lines="one\ntwo")


def test_the_last_lines_of_a_red_build_are_shown_when_the_run_goes_on():
    last = ["[0:01] the last lines of the build:", "       one", "       two"]
    again = Record(1, 1001.0, "run", 1, None, "attempt.started", {"number": 2})
    progress = Progress(stream := io.StringIO(), {})
    for each in (record(RED), again, again):
        progress.receive(each)
    assert stream.getvalue().splitlines()[1:] == [*last, *["[0:01] attempt 2"] * 2]
    assert len(shown(RED, events.MessageLogged("words"))) == 2
    assert len(shown(RED, ASKED, workflow_reports=True)) == 1


STARTED = events.RunStarted("committing-code", "/p", "logs/run")


@pytest.mark.parametrize(
    ("then", "lines"),
    [(ASKED, ["committing-code, log in logs/run", "words", "call 1, initial-query: asking"]),
     (events.RunFinished("not_ready", 3, "no"), ["words"])],
)  # fmt: skip
def test_the_headline_is_the_first_line_of_a_run_that_begins(then, lines):
    found = [line.partition("] ")[2] for line in shown(STARTED, events.MessageLogged("words"), then)]
    assert [line[: len(expected)] for line, expected in zip(found, lines, strict=True)] == lines
