"""What a person sees of a run on a terminal: a status line, colors unless they are off, and nothing
hostile.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest

from code_commit_testing import Project, install_plugin

SCRIPT = """
import os, sys
from code_commit.plugin_api import event as events
from code_commit.plugin_api.record import Record
from code_commit.log.progress import Progress
from code_commit.log.json_lines import data_of
from code_commit.log import progress as module

module._SHORTEST = 0  # seconds
progress = Progress(sys.stderr, os.environ)


def tell(event):
    progress.receive(Record(1, 0.0, "run", 1, None, event.kind, data_of(event)))


tell(
    events.CallStarted(
        1, "query", "gemini", "gemini-2.5-pro\\x1b]52;c;eA==\\x07", "https://x", "", "1.txt"
    )
)
tell(events.MessageLogged("while it thinks"))
tell(events.QuestionAsked("what next?"))
print("person", end="\\n", file=sys.stderr)
tell(events.QuestionAnswered("person"))
tell(events.CallFinished(1, "query", "gemini-2.5-pro", "stop", "STOP", 12.3, 1200, 300))
progress.receive(Record(1, 0.0, "run", 1, None, "attempt.started", {"number": 2}))
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
    return Result(
        Outcome.REACHED if run.build().exit_code == 0 else Outcome.NOT_REACHED, "built", {}
    )
"""


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("environment", "colored"), [({"NO_COLOR": "1"}, False), ({}, True)])
def test_a_run_on_a_terminal_has_a_status_line_and_colors_unless_they_are_off(
    tmp_path, environment, colored
):
    project = Project.create(tmp_path / "project", build="read -r line < go; exit 1\n")
    plugin = install_plugin(tmp_path / "plugins", "builder", BUILDER)
    os.mkfifo(project.root / "go")
    environ = {"TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": str(plugin), **environment}

    def go_on(written: bytes) -> None:
        if b"build... " in written and not (project.root / "gone").exists():
            (project.root / "gone").touch()
            (project.root / "go").write_text("go\n")

    start = partial(project.start, "--just-build", environ=environ)
    code, written, _ = written_to_a_terminal(start, watch=go_on)
    assert code == 1
    assert re.search(r"build\.\.\. \d+ s", written)
    assert ("\x1b[31mbuild ended with exit code 1" in written) == colored


def on_a_terminal(**environment: str) -> tuple[str, bool]:
    """Return what the script writes to a terminal, and whether it needed rich for it."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}
    }
    environ = inherited | {"TERM": "xterm", "COLUMNS": "80", **environment}
    start = partial(subprocess.Popen, [sys.executable, "-c", SCRIPT], env=environ)
    code, written, stdout = written_to_a_terminal(start)
    assert code == 0
    return written, stdout == b"True\n"


def written_to_a_terminal(
    start: Callable[..., subprocess.Popen[bytes]], watch: Callable[[bytes], None] = lambda _: None
) -> tuple[int, str, bytes]:
    """Return the exit code, what the process writes to a terminal, and its stdout."""
    controller, theirs = pty.openpty()
    child = start(stdin=theirs, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is left to write
        while chunk := os.read(controller, 65536):
            written += chunk
            watch(written)
    os.close(controller)
    with child:
        stdout = child.stdout.read()
    return child.returncode, written.decode(), stdout


def test_a_terminal_shows_what_goes_on_and_ends_up_with_the_lines_alone():
    written, needed_rich = on_a_terminal()
    assert needed_rich
    assert re.search(r"\[0:\d\d\] asking gemini-2\.5-pro\\x1b]52;c;eA==\\x07\.\.\. \d+ s", written)
    assert re.search(r"attempt 2, build\.\.\. \d+ s", written)
    assert "\x1b]" not in written
    assert "\x1b[31mbuild ended with exit code 1" in written
    assert [line.split("] ")[-1] for line in rendered(written)] == [
        "call 1, query: asking gemini-2.5-pro\\x1b]52;c;eA==\\x07 (https://x)",
        "while it thinks",
        "person",
        "gemini-2.5-pro answered in 12.3 s, 1,200 tokens in, 300 tokens out",
        "attempt 2",
        "build (not isolated)",
        "while it builds",
        "build ended with exit code 1 after 3.0 s, see logs/run/1-build.txt",
    ]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_terminal_that_wants_plain_text_gets_it(environment):
    written, needed_rich = on_a_terminal(**environment)
    assert not needed_rich
    assert "\x1b" not in written
    assert "build ended with exit code 1" in written


def rendered(written: str) -> list[str]:
    """Play the few sequences that are in use: colours, cursor up, erase line, show and hide the
    cursor.
    """
    rows = [""]
    row = column = 0
    index = 0
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


SHRINKING = """
import fcntl, struct, sys, termios
def resize(columns):
    fcntl.ioctl(sys.stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
resize(80)
"""


def test_a_status_line_that_wraps_after_a_resize_is_erased_as_a_whole():
    script = SHRINKING + SCRIPT.replace(
        "tell(events.QuestionAsked", "resize(20)\ntell(events.QuestionAsked"
    )
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in {"NO_COLOR", "TERM", "COLUMNS"}
    }
    start = partial(
        subprocess.Popen, [sys.executable, "-c", script], env=environ | {"TERM": "xterm"}
    )
    code, written, _ = written_to_a_terminal(start)
    assert code == 0
    assert "\r\x1b[2K" + "\x1b[1A\x1b[2K" * 2 in written  # 59 columns in lines of 20
