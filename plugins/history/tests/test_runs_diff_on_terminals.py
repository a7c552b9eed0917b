"""`code-commit runs diff` on a terminal: in color, and in the pager of the user."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

MARKS = "sed s/^/paged:/"


def on_a_terminal(runs, *arguments, **environ):
    """Return what the command writes to a terminal."""
    main, side = pty.openpty()
    command = [sys.executable, "-P", "-m", "code_commit", "runs", "diff", *arguments]
    environment = runs.project.environment({"TERM": "xterm", **environ})
    with subprocess.Popen(
        command, cwd=runs.project.root, env=environment, stdin=side, stdout=side, stderr=side
    ):
        os.close(side)
        written = b""
        with suppress(OSError):  # Linux's word for the end
            while piece := os.read(main, 65536):
                written += piece
        os.close(main)
    return written.decode().replace("\r\n", "\n")


def test_the_pager_of_the_environment_gets_a_colored_diff(past_runs):
    past_runs.project.git("config", "core.pager", "touch owned; cat")
    shown = on_a_terminal(past_runs, past_runs.repaired, GIT_PAGER=MARKS, PAGER="false")
    assert "paged:\x1b[31m-old\x1b[0m\npaged:\x1b[32m+good\x1b[0m\n" in shown
    assert not (past_runs.project.root / "owned").exists()


@pytest.mark.parametrize(
    ("environ", "arguments"),
    [({"PAGER": MARKS}, ("--no-pager",)), ({"PAGER": MARKS}, ("--json",)), ({"PAGER": ""}, ()),
     ({"PAGER": "no-such-pager"}, ()), ({"PAGER": "'open"}, ())],
)  # fmt: skip
def test_without_a_pager_the_diff_is_printed_at_once(past_runs, environ, arguments):
    shown = on_a_terminal(past_runs, past_runs.repaired, *arguments, **environ)
    assert "+good" in shown
    assert "paged:" not in shown


def test_a_diff_without_a_terminal_has_no_color_and_no_pager(past_runs):
    shown = past_runs.project.command(
        "runs", "diff", past_runs.repaired, environ={"PAGER": MARKS, "TERM": "xterm"}
    )
    assert "\n-old\n+good\n" in shown.stdout
    assert "paged:" not in shown.stdout


def test_no_color_turns_the_colors_off(past_runs):
    shown = on_a_terminal(past_runs, past_runs.repaired, NO_COLOR="1", PAGER=MARKS)
    assert "paged:-old\npaged:+good\n" in shown
