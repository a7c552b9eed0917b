"""Words of a reply that are printed, and the status line, do not get in each other's way."""

from __future__ import annotations

import math
import threading
import time

from code_commit.log.run_log import call_files
from code_commit.models.received_reply import ReceivedReply
from code_commit.plugin_api import Delta, ModelCall, Request


def test_the_line_of_the_words_ends_before_the_status_line_comes_back(log, monkeypatch):
    done: list[object] = []
    shown = {True: threading.Event(), False: threading.Event()}

    def report(event):
        done.append(event.printed)
        shown[event.printed].set()

    monkeypatch.setattr(log, "emit", report)
    monkeypatch.setattr(log, "show", report)
    call = ModelCall(Request(()), "ask", "default", "one", "model", 1, log.folder, math.inf, time.sleep, print)
    reply = ReceivedReply(call, call_files(1, "ask"), log, done.append, None)
    reply.take(Delta("thinking", "hm"))
    assert shown[False].wait(60)
    shown[False].clear()
    reply.take(Delta("text", "some words."))
    assert shown[True].wait(60)
    reply.take(Delta("tool", "{}", name="shell"))
    assert shown[False].wait(60)
    reply.end()
    assert done[:4] == [False, True, "some words.", "\n"]
    assert done[4:] == [False] * len(done[4:])
    assert done[4:]
