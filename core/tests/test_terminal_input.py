"""Answers of a person, from a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

ASKING = """
import sys
from pathlib import Path
from code_commit.terminal.answers import read_answer
print("ready", flush=True)
while sys.stdin.buffer.readline() != b"work is done\\n": pass
for number in (1, 2):
    show = lambda: print("question", number, flush=True)
    print(repr(read_answer(show, Path.cwd(), {draft})), flush=True)
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

    def __init__(self, draft: str | None, first: str = "", **environ: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", first + ASKING.format(draft=repr(draft))],
            stdin=slave,
            stdout=slave,
            env={**os.environ, **environ},
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str) -> None:
        while text not in self.shown:
            self.shown += os.read(self.master, 4096).decode()
        self.shown = self.shown.partition(text)[2]

    def types(self, text: str) -> None:
        os.write(self.master, text.encode())


@pytest.fixture
def terminal():
    opened = []

    def start(draft=None, **environ):
        opened.append(Terminal(draft, **environ))
        opened[-1].until("ready")
        return opened[-1]

    yield start
    for terminal_process in opened:
        terminal_process.process.kill()
        terminal_process.process.wait(60)
        os.close(terminal_process.master)


def test_what_is_typed_before_a_question_does_not_answer_it(terminal):
    person = terminal()
    person.types("work is done\nyes\n\nhalf of a line")
    person.until("question 1")
    person.types("no\n")
    person.until("'no'")


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_pasted_block_is_one_answer(terminal, end):
    person = terminal(draft="")
    person.types("work is done\n")
    person.until("question 1")
    person.types(f"one\n\n- two\n- three{end}")
    if not end:
        person.until("- three")  # its echo: the rest of the line is awaited
        person.types(" more\n")
    person.until(f"'one\\n\\n- two\\n- three{'' if end else ' more'}'")
    person.until("question 2")


def test_an_editor_writes_the_answer(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\ntest -e "$1.failed" || { touch "$1.failed"; exit 3; }\necho second line >> "$2"\n'
    )
    editor.chmod(0o755)
    person = terminal("first line\n", EDITOR=f"{editor} '{tmp_path}/mark'", VISUAL="")
    person.types("work is done\n")
    person.until("question 1")
    person.types("e\n")
    person.until("The editor failed: ")
    person.types("e\n")
    person.until("'first line\\nsecond line'")


def test_ctrl_c_ends_a_question(terminal):
    person = terminal(first=LISTENING)
    person.types("work is done\n")
    person.until("question 1")
    person.process.send_signal(signal.SIGINT)
    assert person.process.wait(60) == 130


def test_a_signal_ends_the_editor(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(
        "#!/bin/sh\ntrap 'echo the editor ends; exit 1' TERM\n"
        "echo editing\nwhile :; do sleep 0.05; done\n"
    )
    editor.chmod(0o755)
    person = terminal("a draft", first=LISTENING, EDITOR=str(editor), VISUAL="")
    person.types("work is done\n")
    person.until("question 1")
    person.types("e\n")
    person.until("editing")
    person.process.send_signal(signal.SIGTERM)
    assert person.process.wait(60) == 130
    person.until("the editor ends")
