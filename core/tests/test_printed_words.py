"""Words that are printed: they keep apart from the status line, and only a terminal gets styles and
no commands.
"""

from __future__ import annotations

import math
import os
import pty
import threading
import time

import pytest

from code_commit.log.run_log import call_files
from code_commit.models.received_reply import ReceivedReply
from code_commit.plugin_api import Delta, ModelCall, Request
from code_commit_testing import install_plugin

SAYS = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    flag = Flag(("--say",), "say", selects=True)
    return [WorkflowDefinition("say", "say", (flag,), "says_plugin:say", roles=None, writes=False)]

def say(run):
    run.say("plain\\x1b[2J")
    run.say("strong", "bold red")
    return Result(Outcome.REACHED, "said")
"""


def test_the_line_of_the_words_ends_before_the_status_line_comes_back(log, monkeypatch):
    order: list[object] = []
    shown = {True: threading.Event(), False: threading.Event()}

    def report(event):
        order.append(event.printed)
        shown[event.printed].set()

    monkeypatch.setattr(log, "emit", report)
    monkeypatch.setattr(log, "show", report)
    call = ModelCall(
        Request(()), "ask", "default", "one", "model", 1, log.folder, math.inf, time.sleep, print
    )
    reply = ReceivedReply(call, call_files(1, "ask"), log, order.append, None)
    reply.take(Delta("thinking", "hm"))
    assert shown[False].wait(60)
    shown[False].clear()
    reply.take(Delta("text", "some words."))
    assert shown[True].wait(60)
    reply.take(Delta("tool", "{}", name="shell"))
    assert shown[False].wait(60)
    reply.end()
    assert order[:4] == [False, True, "some words.", "\n"]
    assert order[4:] == [False] * len(order[4:])
    assert order[4:]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("terminal", "environ", "shown"),
    [
        (True, {}, b"plain\\x1b[2J\r\n\x1b[1;31mstrong\r\n\x1b[0m"),
        (True, {"NO_COLOR": "1"}, b"plain\\x1b[2J\r\nstrong\r\n"),
        (False, {}, b"plain\x1b[2J\nstrong\n"),
    ],
)
def test_a_terminal_gets_styles_and_no_commands(project, tmp_path, terminal, environ, shown):
    plugins = [install_plugin(tmp_path / "plugins", "says", SAYS)]
    controller, theirs = pty.openpty() if terminal else os.pipe()
    environ = {"TERM": "xterm", **environ}
    with project.start(
        "--say", "--quiet", plugins=plugins, environ=environ, stdout=theirs
    ) as process:
        os.close(theirs)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    assert os.read(controller, 1000) == shown
    os.close(controller)
