"""The output on a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from code_commit_testing import install_plugin

# A plugin: the terminal is that of the process, the source of Ctrl-C.
ON_TERMINAL = """
import fcntl, os, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
"""
AS_UNDER_NOHUP = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
"""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """The command on a terminal, with a person who types after certain output."""

    def __init__(
        self, project, *flags, columns: int = 80, environ: dict[str, str] | None = None, nohup=False
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        code = ON_TERMINAL
        if nohup:
            code += AS_UNDER_NOHUP
        plugins = [install_plugin(project.home / f"terminal-{slave}", "terminal", code)]
        environ = {"TERM": "xterm", **(environ or {})}
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
        self.process = project.start(*flags, environ=environ, plugins=plugins, **streams)
        os.close(slave)
        self.shown = ""
        self.read_to = 0

    def until(self, words: str) -> None:
        with self._within_a_minute():
            while words not in self.shown[self.read_to :]:
                try:
                    self._read()
                except OSError:
                    pytest.fail(
                        f"{words!r} was not shown within a minute, but {self.shown[self.read_to :]!r}"
                    )
            self.read_to = self.shown.index(words, self.read_to) + len(words)

    def types(self, text: str) -> None:
        os.write(self.master, text.encode())

    def ends(self) -> int:
        with self._within_a_minute(), suppress(OSError):
            while True:
                self._read()
        return self.process.wait(60)

    @contextmanager
    def _within_a_minute(self) -> Iterator[None]:
        watchdog = threading.Timer(60, self.process.kill)
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()

    def _read(self) -> None:
        data = os.read(self.master, 65536)
        if not data:
            raise OSError("the terminal is closed")
        self.shown += data.decode("utf-8", "replace")

    def hang_up(self) -> None:
        """Close the terminal. May be called twice."""
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, self.master)
        os.close(null)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(60)
        os.close(self.master)

    @property
    def lines(self) -> list[str]:
        """Return the text on the screen, with the last state of each repainted line."""
        lines = [ESCAPES.sub("", line).rstrip("\r") for line in self.shown.split("\n")]
        return [line.rpartition("\r")[2] for line in lines]


@pytest.fixture
def on_terminal(codebase):
    opened = []

    def start(*flags, **options):
        opened.append(Terminal(codebase.project, *codebase.flags, *flags, **options))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def test_a_whole_cycle_works_on_a_terminal(codebase, on_terminal):
    cast = codebase.cast
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    cast.player = [
        replace(cast.called("todo_write", content="- [x] two\n"), text="First a list."),
        cast.called(
            "shell",
            command="echo a command that is longer than a line of the terminal can ever be >&2;"
            " seq 4; printf '\\033[31mred\\n\\n'; exit 3",
        ),
        cast.called("read_file", path="no\x1b[31msuch.txt"),
        cast.writes("two.txt", "2\n"),
        cast.done("two.txt is there:\n\n    if two:\n\t    show(two)"),
    ]
    cast.coach = [
        cast.done("\n\n".join(f"{number}: {'word ' * 20}" for number in range(30))),
        *cast.coach,
    ]
    terminal = on_terminal("--planning", f"--codepath={codebase.project.root}", "--sandbox=off")
    for shown, typed in (
        ("correct branch", "yes\n"),
        ("start a review", "\n"),
        ("it further", "yes\n"),
        ("type one of", "\ncommit\n"),
        ("start a review", "quit\n"),
    ):
        terminal.until(shown)
        terminal.types(typed)
    assert terminal.ends() == 0
    lines = terminal.lines
    for called in ("todo_write", "shell echo a command", "read_file", "edit two.txt +1 -0"):
        assert len([line for line in lines if f"player: {called}" in line]) == 1
    assert any(line.endswith("-> exit code 3") for line in lines)
    assert "First a list." in lines  # not behind the status
    todos = lines.index(" todos: 1 of 1 done")
    assert lines[todos + 1] == "  - [x] two"
    speakers = [at for at, line in enumerate(lines) if line == " player says:"]
    assert [lines[at + 1] for at in speakers[:2]] == ["First a list.", "  two.txt is there:"]
    assert lines[speakers[1] + 2 : speakers[1] + 4] == ["      if two:", "          show(two)"]
    failed = next(at for at, line in enumerate(lines) if line.endswith("-> exit code 3"))
    assert lines[failed + 1 : failed + 4] == ["    3", "    4", "    \\x1b[31mred"]
    assert any(line.startswith("Coach: coach (") for line in lines)
    assert "The player is done after 5 replies." in lines
    assert "  IMPLEMENTATION_APPROVED" in lines
    assert "The coach is not satisfied yet." in lines
    feedback = lines[lines.index(" coach says:") + 1 :]
    assert next(at for at, line in enumerate(feedback) if not line.startswith("  ")) == 25
    assert "\x1b[31msuch" not in terminal.shown
    path = str(codebase.project.root)
    wide_lines = [line for line in lines if len(line) > 80]
    known = (path, "logs/", "{{ORIGINAL USER REQUIREMENTS")
    assert not [line for line in wide_lines if not any(words in line for words in known)]
    assert "\n\n\n" not in "\n".join(line.strip() for line in lines)


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("environ", "in_color"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_calls_fit_a_narrow_terminal_and_are_in_color(codebase, on_terminal, environ, in_color):
    cast = codebase.cast
    cast.player = [
        cast.called(
            "shell",
            command="echo '[bold]a command[/] that is longer than the lines of a terminal'; exit 3",
        ),
        cast.called("read_file", path="no[red]such\x1b[35m.txt"),
        *cast.player,
    ]
    codebase.write("requirements.md", "Add two.\n")
    terminal = on_terminal("--autonomous", "--sandbox=off", columns=50, environ=environ)
    assert terminal.ends() == 0
    calls = [line for line in terminal.lines if "player: " in line]
    assert [line.split("player: ")[1].split()[0] for line in calls] == [
        "shell",
        "read_file",
        "todo_write",
        "edit",
        "final_output",
    ]
    assert max(map(len, calls)) <= 50
    assert calls[0].endswith("-> exit code 3")
    assert "shell echo '[bold]a" in calls[0]
    assert ("\x1b[31m !player: read_file no" in terminal.shown) == in_color
    assert ("\x1b[32mThe coach has approved" in terminal.shown) == in_color
    assert ("\x1b[3" in terminal.shown) == in_color


def test_what_is_typed_while_models_work_answers_no_question(codebase, on_terminal):
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    terminal = on_terminal("--planning", f"--codepath={codebase.project.root}", "--sandbox=off")
    typed_early = {"planner": "yes\n\n", "coach": "\n\nyes\n"}
    for part, typed in typed_early.items():
        codebase.cast.before[part] = lambda typed=typed: terminal.types(typed)
    terminal.until("correct branch")
    terminal.types("yes\n")
    terminal.until("start a review")
    terminal.types("Focus on tests.\nyes\n")
    terminal.until("it further")
    terminal.types("yes\n")
    terminal.until("Please review")
    terminal.types("quit\n")
    assert terminal.ends() == 0
    assert codebase.subjects() == ["start"]
    assert "Focus on tests.\nyes" in codebase.cast.requests["planner"][0].prompt


def test_the_words_of_an_earlier_chat_are_called_up_without_keys(codebase, on_terminal):
    key = "sk-of-the-player-0123456789"
    words = f"use {key}"
    codebase.cast.player = [codebase.cast.done("one")]
    for keys, sent in ((f"{words}\r", "use "), ("\x1b[A now\r", "now")):
        terminal = on_terminal("--chat", environ={"OPENAI_API_KEY": key})
        terminal.until("Describe the work")
        terminal.until("> ")
        terminal.types(keys)
        terminal.until("Describe the next task")
        terminal.until("> ")
        terminal.types("quit\r")
        assert terminal.ends() == 0
        assert sent in codebase.cast.requests["player"][-1].prompt
    assert "***89 now" in codebase.cast.requests["player"][-1].prompt
    state = codebase.project.root / "agent-config/.code-commit/state"
    assert not [file for file in state.rglob("*") if file.is_file() and key in file.read_text()]


def test_ctrl_c_ends_it_at_once(codebase, on_terminal):
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    terminal = on_terminal("--planning", f"--codepath={codebase.project.root}")
    terminal.until("correct branch")
    terminal.types("\x03")
    assert terminal.ends() == 130
    assert sorted(codebase.plan_files()) == ["new_requirements.md"]


@pytest.mark.parametrize(
    ("nohup", "code", "moment"),
    [
        (False, 130, "a call"),
        (True, 1, "a question"),
        pytest.param(False, 130, "a question", marks=pytest.mark.slow),
        pytest.param(True, 1, "a call", marks=pytest.mark.slow),
    ],
)
def test_a_closed_terminal_interrupts_the_run_or_ends_its_input(
    codebase, on_terminal, nohup, code, moment
):
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    terminal = on_terminal("--planning", f"--codepath={codebase.project.root}", nohup=nohup)
    terminal.until("correct branch")
    if moment == "a call":
        codebase.cast.before["planner"] = terminal.hang_up
        terminal.types("yes\n")
        terminal.until("start a review")
        terminal.types("\n")
    else:
        terminal.hang_up()
    assert terminal.process.wait(60) == code
    *_, last = (codebase.project.run_folder / "events.jsonl").read_text().splitlines()
    assert f'"exit_code":{code}' in last


def test_ctrl_d_is_the_end_of_the_input(codebase, on_terminal):
    terminal = on_terminal("--planning", f"--codepath={codebase.project.root}")
    terminal.until("correct branch")
    terminal.types("\x04")
    assert terminal.ends() == 1


def test_ctrl_c_at_the_codepath(codebase, on_terminal):
    terminal = on_terminal("--planning")
    terminal.until("Which codebase")
    terminal.types("\x03")
    assert terminal.ends() == 130
