"""Answers of a person, from a pipe and on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import stat
import struct
import subprocess
import sys
import termios
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from code_commit.terminal.answer_history import AnswerHistory

ASKING = """
import sys
from pathlib import Path
from code_commit.terminal.answer_history import AnswerHistory
from code_commit.terminal.answers import read_answer
print("ready", flush=True)
while sys.stdin.buffer.readline() != b"work is done\\n": pass
for number in (1, 2):
    show = lambda: print("question", number, flush=True)
    print(repr(read_answer(show, Path.cwd(), {draft}, screen=sys.stdout, history={history})), flush=True)
"""

LISTENING = """
import os, sys
from code_commit_workspace import STOP
STOP.listen(os._exit)
sys.excepthook = lambda kind, *_: os._exit(130 if kind.__name__ == "Interrupted" else 1)
"""


@pytest.mark.parametrize(
    ("typed", "draft", "answer"),
    [
        (b"yes\r\nmore\n", None, "'yes'"),
        (b"", None, "None"),
        (b"\n", "", "''"),
        (b"\xff", None, "'\ufffd'"),
        (b"one\\\n", None, "'one\\\\'"),
        (b"one\\\ntwo\\\n three\nmore\n", "", "'one\\ntwo\\n three'"),
        (b"one\\\n", "", "'one'"),
        (b"e\n", "a draft", "'e'"),
    ],
)
def test_an_answer_from_a_pipe_is_a_line_and_those_it_continues_on(typed, draft, answer):
    code = f"from code_commit.terminal.answers import read_answer; print(repr(read_answer(str, draft={draft!r})))"
    completed = subprocess.run(
        [sys.executable, "-c", code], input=typed, capture_output=True, check=True
    )
    assert completed.stdout.decode().rstrip("\n") == answer


def test_there_is_no_answer_without_stdin():
    code = "import sys; sys.stdin = None; from code_commit.terminal.answers import read_answer; print(read_answer(str))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        == b"None\n"
    )


class Terminal:
    """A program that asks two questions, and a person who types."""

    def __init__(
        self,
        draft: str | None = None,
        history: str = "None",
        first: str = "",
        columns: int = 80,
        **environ: str,
    ) -> None:
        self.master, self.slave = pty.openpty()
        self.resize(columns)
        self.process = subprocess.Popen(
            [sys.executable, "-c", first + ASKING.format(draft=repr(draft), history=history)],
            stdin=self.slave,
            stdout=self.slave,
            env={**os.environ, "TERM": "xterm", "ACCESSIBLE": "", **environ},
            process_group=0,
        )
        self.shown = ""

    def until(self, text: str) -> str:
        """Wait for `text`; return what was shown before it."""
        while text not in self.shown:
            self.shown += os.read(self.master, 65536).decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    def types(self, text: str) -> None:
        os.write(self.master, text.encode())

    def pastes(self, text: str) -> None:
        self.types(f"\x1b[200~{text}\x1b[201~")

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def is_editing(self) -> bool:
        """Return whether the terminal passes each key on."""
        return not termios.tcgetattr(self.slave)[3] & termios.ICANON

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self.slave)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, self.master)
        self.slave = null


@pytest.fixture
def terminal():
    opened = []

    def start(draft=None, early="", **options):
        opened.append(Terminal(draft, **options))
        opened[-1].until("ready")
        opened[-1].types(f"work is done\n{early}")
        return opened[-1]

    yield start
    for person in opened:
        person.process.kill()
        person.process.wait(60)
        os.close(person.slave)
        os.close(person.master)


PLAIN = pytest.mark.parametrize("term", ["xterm", "dumb"])


@PLAIN
def test_what_is_typed_before_a_question_does_not_answer_it(terminal, term):
    person = terminal(early="yes\n\nhalf of a line", TERM=term)
    person.until("question 1")
    person.until("> ")
    person.types("no\n")
    person.until("'no'")


@PLAIN
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_pasted_block_is_one_answer(terminal, end, term):
    person = terminal(draft="", TERM=term)
    person.until("question 1")
    person.types(f"one\n\n- two\n- three{end}")
    if not end:
        person.until("- three")  # its echo: the rest of the line is awaited
        person.types(" more\n")
    person.until(f"'one\\n\\n- two\\n- three{'' if end else ' more'}'")
    person.until("question 2")


def test_the_answer_is_edited_in_a_line_of_its_own(terminal):
    person = terminal(draft="")
    person.until("question 1\r\n")
    assert person.until("> ").endswith("\x1b[0;36;1m")
    person.types("helo\x1b[D\x1b[Dl\x1b[C\x1b[C!\\\r")  # a backslash continues the line
    person.until("hello!")
    person.types("second\x1b\rthird\x1b[A\x01<\r")  # so does Alt-Enter
    person.until("'hello!\\n<second\\nthird'")
    person.until("question 2")
    person.until("> ")
    assert person.is_editing()
    person.pastes("one\nquit\n\n\x1b[31mred\u202e\n")  # is text, and nothing of it is a key
    person.until("quit")
    assert "\x1b[31m" not in person.until("\\x1b[31mred\\u202e")
    person.types("\x7f\x1b[13;2u \x1b[31m \x1b[<0;1;1M\r")
    person.until("'one\\nquit\\n\\n\\x1b[31mred\\u202e")
    assert person.process.wait(60) == 0
    assert not person.is_editing()


@pytest.mark.parametrize("bracketed", [True, False])
def test_a_long_line_arrives_whole(terminal, bracketed):
    person = terminal()
    person.until("question 1")
    person.until("> ")
    length = 200_000
    text = "x" * length
    if bracketed:
        text = f"\x1b[200~{text}\x1b[201~"
    writer = threading.Thread(target=person.types, args=(text + "\r",))
    writer.start()
    person.until(repr("x" * length))
    writer.join()


def test_a_terminal_of_plain_lines_tells_that_it_cut_one_off(terminal):
    person = terminal(TERM="dumb")
    person.until("question 1\r\n> ")
    person.types("x" * 5000 + "\n")
    person.until("cut a line off after 4,095 bytes")
    person.until("> ")
    person.types("short\n")
    person.until("'short'")


@pytest.mark.parametrize(
    ("environ", "escapes"),
    [({"TERM": "dumb"}, False), ({"ACCESSIBLE": "1"}, False), ({"NO_COLOR": "1"}, True)],
)
def test_a_terminal_that_wants_no_colors_gets_none(terminal, environ, escapes):
    person = terminal(**environ)
    person.until("question 1\r\n")
    shown = person.until("> ")
    person.types("a\x7fb\n")
    shown += person.until("'b'")
    assert ("\x1b" in shown) == escapes
    assert "\x1b[0;3" not in shown


def test_the_history_outlives_the_session_without_keys_and_commands(terminal, tmp_path):
    history = f"AnswerHistory(Path({str(tmp_path)!r}), lambda text: text.replace('secret', '***'), ('quit',))"
    person = terminal(draft="", history=history)
    for number, answer in enumerate(("first secret", "quit"), 1):
        person.until(f"question {number}")
        person.until("> ")
        person.types(f"{answer}\r")
        person.until(repr(answer))
    file = tmp_path / "answers.json"
    assert "secret" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    person = terminal(draft="", history=history)
    person.until("question 1")
    person.until("> ")
    person.types("\x1b[A")
    person.until("first ***")
    person.types("\x15second\r")
    person.until("'second'")
    person.until("question 2")
    person.until("> ")
    person.types("\x12")  # Ctrl-R
    person.until("search")
    person.types("fir")
    person.until("***")
    person.types("\r\r")
    person.until("'first ***'")


def test_answers_of_several_sessions_are_all_kept_and_old_ones_go(tmp_path):
    history = AnswerHistory(tmp_path, str)
    answers = [f"{number} " + "x" * 50_000 for number in range(19)]
    with ThreadPoolExecutor(4) as sessions:
        list(sessions.map(history.add, answers))
    assert sorted(history.load()) == sorted(answers)
    history.add("y" * 60_000)
    assert len(history.load()) == 19
    history.add("y" * 60_000)
    assert len(history.load()) == 19
    (tmp_path / "answers.json").write_text('["half')
    assert history.load() == []


@PLAIN
def test_an_editor_writes_the_answer(terminal, tmp_path, term):
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\ntest -e "$1.failed" || { touch "$1.failed"; exit 3; }\necho second line >> "$2"\n'
    )
    editor.chmod(0o755)
    person = terminal("first line\n", EDITOR=f"{editor} '{tmp_path}/mark'", VISUAL="", TERM=term)
    person.until("question 1")
    person.types("e\n")
    person.until("The editor failed: ")
    person.until("> ")
    person.types("e\n")
    person.until("'first line\\nsecond line'")


@PLAIN
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_question_and_the_terminal_is_as_before(terminal, number, term):
    person = terminal(first=LISTENING, TERM=term)
    person.until("question 1")
    person.until("> ")
    person.types("half of an ans")
    person.until("ans")
    person.process.send_signal(number)
    assert person.process.wait(60) == 130
    assert not person.is_editing()


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 0)])
def test_ctrl_c_interrupts_and_ctrl_d_ends_the_input(terminal, key, code):
    person = terminal(first=LISTENING)
    for number in (1, 2):
        person.until(f"question {number}")
        person.until("> ")
        person.types(key)
        if code:
            break
        person.until("None")
    assert person.process.wait(60) == code
    assert not person.is_editing()


def test_ctrl_z_stops_the_process_until_the_shell_continues_it(terminal):
    person = terminal()
    person.until("question 1")
    person.until("> ")
    person.types("half")
    person.until("half")
    person.types("\x1a")
    _, status = os.waitpid(person.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert not person.is_editing()
    person.process.send_signal(signal.SIGCONT)
    person.until("half")
    assert person.is_editing()
    person.types(" more\r")
    person.until("'half more'")


@PLAIN
def test_a_terminal_that_goes_away_ends_the_input(terminal, tmp_path, term):
    record = f"import sys; sys.displayhook = lambda _: None\nimport atexit; atexit.register(lambda: open({str(tmp_path / 'ended')!r}, 'w'))\n"
    person = terminal(first=record, TERM=term)
    person.until("question 1")
    person.until("> ")
    person.types("half of an ans")
    person.until("ans")
    person.hang_up()
    person.process.wait(60)
    assert (tmp_path / "ended").exists()


def test_the_line_follows_the_width_of_the_terminal(terminal):
    person = terminal()
    person.until("question 1")
    person.until("> ")
    person.types("words" * 12)
    person.until("words" * 12)
    person.resize(30)
    person.types("!")
    person.until("\r\n")  # drawn again, over several lines
    person.types("\r")
    person.until(repr("words" * 12 + "!"))


def test_a_signal_ends_the_editor(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(
        "#!/bin/sh\ntrap 'echo the editor ends; exit 1' TERM\n"
        "echo editing\nwhile :; do sleep 0.05; done\n"
    )
    editor.chmod(0o755)
    person = terminal("a draft", first=LISTENING, EDITOR=str(editor), VISUAL="")
    person.until("question 1")
    person.types("e\n")
    person.until("editing")
    person.process.send_signal(signal.SIGTERM)
    assert person.process.wait(60) == 130
    person.until("the editor ends")
