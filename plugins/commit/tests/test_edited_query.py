"""`--edit` opens the latest query in the editor of a person at a terminal."""

from __future__ import annotations

import os
import pty
import threading

import pytest

GOOD = "^^^a.txt\ngood\n^^^end\n"
NO_SANDBOX = {"CODE_COMMIT_SANDBOX": "off"}


@pytest.fixture
def edit(change, tmp_path):
    """Return a function that runs `--edit` on a terminal, with an editor that is a shell script.

    It returns the exit code, what the terminal showed, and the text that the editor opened.
    """
    opened = tmp_path / "opened"

    def run(script: str, *arguments: str, name: str = "EDITOR") -> tuple[int, str, str]:
        editor = tmp_path / "editor"
        editor.write_text(f'#!/bin/sh\nfor file; do :; done\ncp "$file" {opened}\n{script}\n')
        editor.chmod(0o755)
        opened.unlink(missing_ok=True)
        outside, inside = pty.openpty()
        shown: list[bytes] = []
        reader = threading.Thread(target=_read_all, args=(outside, shown))
        with change.project.start(
            "--edit",
            *arguments,
            plugins=[change.plugins],
            environ={**NO_SANDBOX, name: str(editor), "TERM": "xterm"},
            stdin=inside,
            stdout=inside,
            stderr=inside,
        ) as process:
            os.close(inside)
            reader.start()
            code = process.wait(60)
        reader.join()
        os.close(outside)
        text = opened.read_text() if opened.exists() else ""
        return code, b"".join(shown).decode().replace("\r\n", "\n"), text

    return run


def _read_all(terminal: int, shown: list[bytes]) -> None:
    try:
        while piece := os.read(terminal, 65536):
            shown.append(piece)
    except OSError:
        return  # how Linux says that nobody has the terminal open any more


def test_the_text_of_the_query_file_is_edited_in_place(change, edit):
    change.script([GOOD])
    code, shown, opened = edit('echo "and quickly" >> "$file"')
    assert code == 0, shown
    assert opened == "Change a.txt.\n"
    assert "Change a.txt.\nand quickly\n" in change.prompts()[0]
    assert change.project.read("agent-config/query.txt") == "Change a.txt.\nand quickly\n"


def test_a_newer_query_of_a_run_is_edited_and_the_file_stays(change, edit):
    change(["^^^a.txt\nbad\n^^^end\n"], "Write it down", "--dry-run")
    change.script([GOOD])
    failing = 'echo "in good words" >> "$file"; exit 3'
    for before in ("Write it down\n", "Write it down\nin good words\n"):
        code, shown, opened = edit(failing, name="VISUAL")
        assert (code, opened) == (3, before), shown
        assert "no call was made: " in shown
        assert "ended with exit code 3" in shown
        assert "your text is in agent-config/edited-query.txt" in shown
        failing = "exit 3"
    code, shown, opened = edit("true", "--dry-run")
    assert (code, opened) == (0, "Write it down\nin good words\n"), shown
    assert opened in change.prompts()[0]
    # The run has it now, so that it is the latest query.
    assert not (change.project.root / "agent-config/edited-query.txt").exists()
    assert edit("exit 1")[2] == opened
    assert change.project.read("agent-config/query.txt") == "Change a.txt.\n"


def test_without_a_text_or_a_terminal_no_call_is_made(change, edit):
    change.script([GOOD])
    code, shown, _ = edit('printf "\\n" > "$file"')
    assert code == 3, shown
    assert "error: no call was made: the query is empty" in shown
    finished = change([GOOD], "--edit")
    assert finished.exit_code == 2
    assert "--edit opens an editor, which needs a terminal" in finished.stderr
    finished = change([GOOD], "--edit", "Make it good")
    assert finished.exit_code == 2
    assert "--edit cannot be used with another query" in finished.stderr
    assert change.project.read("a.txt") == "old\n"
