"""The stop of a process: a signal sets it, waits end, held blocks finish, and nothing hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue

import pytest

from code_commit_workspace import Interrupted, Stop

SOON = 60  # seconds, far below what the tests would wait for without a stop
START = """
import ctypes, os, signal, sys, threading, time
from code_commit_workspace import Interrupted, Stop

stop = Stop()
stop.last_words = lambda place: os.write(1, f"last words: {place}\\n".encode())
stop.listen(os._exit)
print("ready", flush=True)
"""


def ends(
    code: str, *signals: float, number: int = signal.SIGTERM, ignored: bool = False
) -> tuple[int, list[str], float]:
    """Run `code`, send a signal after each pause; return the exit code, the lines, the seconds."""
    before = signal.signal(number, signal.SIG_IGN) if ignored else None
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", START + code], stdout=subprocess.PIPE, text=True
        )
    finally:
        if ignored:
            signal.signal(number, before)
    with process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        begin = time.monotonic()
        for pause in signals:
            time.sleep(pause)
            process.send_signal(number)
        try:
            stdout, _ = process.communicate(timeout=SOON)
        finally:
            process.kill()
    return process.returncode, stdout.splitlines(), time.monotonic() - begin


@pytest.fixture
def stop() -> Iterator[Stop]:
    stop = Stop()
    yield stop
    assert stop.wait_until_over(0)


WAITS = {
    "sleep": "stop.sleep(600)",
    "queue": "import queue; stop.get(queue.SimpleQueue())",
    "thread": "t = threading.Thread(target=time.sleep, args=[600], daemon=True); t.start(); stop.join(t)",
    "pipe": "stop.wait_for_input(os.pipe()[0])",
    "loop": "while True: stop.check()",
    "child": "e = threading.Event()\n    with stop.child(e.set): e.wait()\n    stop.check()",
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("wait", WAITS)
def test_each_signal_ends_each_wait(wait, number):
    code = f"try:\n    {WAITS[wait]}\nexcept Interrupted:\n    print('interrupted'); sys.exit(7)"
    exit_code, lines, _ = ends(code, 0, number=number)
    assert (exit_code, lines) == (7, ["interrupted"])


def test_an_ignored_signal_stays_ignored():
    code = "stop.sleep(0.5); print(stop.is_set)"
    assert ends(code, 0, number=signal.SIGHUP, ignored=True)[:2] == (0, ["False"])


def test_code_that_never_asks_ends_hard_after_some_patience():
    swallows = (
        "stop.begin_work()\nwhile True:\n    try: stop.sleep(1)\n    except BaseException: pass"
    )
    exit_code, [words], seconds = ends(swallows, 0)
    assert (exit_code, words.startswith("last words: ")) == (130, True)
    assert 3 <= seconds < SOON / 2
    # A call in C that releases the lock of the interpreter.
    blocks = """
stop.begin_work()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # else the signal would end the call
def block(): ctypes.CDLL(None).select(0, 0, 0, 0, None)
block()
"""
    exit_code, [words], _ = ends(blocks, 0)
    assert exit_code == 130
    assert words.endswith(", in block")


def test_before_work_begins_there_is_little_patience():
    exit_code, words, seconds = ends("while True: time.sleep(1)", 0)
    assert (exit_code, words) == (130, ["last words: "])
    assert seconds < 3 + SOON / 2


def test_a_second_signal_ends_at_once_unless_it_comes_with_the_first():
    blocks = "stop.begin_work()\nwhile True: time.sleep(1)"
    *_, alone = ends(blocks, 0, 0)
    *_, again = ends(blocks, 0, 0.6)
    assert again < 3 <= alone


def test_what_is_held_finishes_and_asks_afterwards():
    code = """
try:
    with stop.hold():
        time.sleep(3.5)  # longer than the patience without work
        stop.check()
        print("whole", stop.is_set, flush=True)
    stop.check()
except Interrupted:
    sys.exit(7)
"""
    assert ends(code, 0)[:2] == (7, ["whole True"])


def test_what_is_held_gets_some_seconds_after_a_second_signal():
    exit_code, _, seconds = ends("with stop.hold():\n    time.sleep(600)", 0, 0.6)
    assert exit_code == 130
    assert 3.5 <= seconds < SOON / 2


def test_last_words_that_block_are_not_waited_for():
    code = "stop.last_words = lambda place: time.sleep(600)\nwhile True: time.sleep(1)"
    assert ends(code, 0)[0] == 130


def test_a_decision_is_the_exit_code_of_a_hard_end():
    code = "stop.decide(7)\nwhile True: time.sleep(1)"
    assert ends(code, 0)[:2] == (7, [])
    assert ends(f"with stop.nested(): {code}", 0)[0] == 130
    assert ends("stop.finish(7)\nstop.begin_work()\ntime.sleep(600)", 0)[0] == 7


def test_each_question_is_answered_again_but_not_while_something_holds(stop):
    stop.check()
    stop.set()
    for _ in range(2):
        with pytest.raises(Interrupted, match=r"^interrupted$"):
            stop.check()
    with stop.hold(), stop.hold():
        stop.check()
    error = Interrupted("a slow import", hint="disable it")
    with stop.saying(error), pytest.raises(Interrupted, match="a slow import") as raised:
        stop.check()
    assert raised.value.hint == "disable it"


def test_an_ending_is_called_once_and_never_after_its_block(stop):
    calls = []
    with stop.child(lambda: calls.append("before")):
        pass
    with stop.child(lambda: calls.append("in it")):
        stop.set()
        stop.set()
    assert calls == ["in it"]
    with stop.child(lambda: calls.append("later")):
        assert calls == ["in it", "later"]


def test_an_ending_waits_until_nothing_holds(stop):
    calls = []
    with stop.child(lambda: calls.append("ended")):
        with stop.hold():
            stop.set()
            assert calls == []
        assert calls == ["ended"]


def test_an_ending_that_fails_does_not_keep_the_others(stop):
    calls = []
    with stop.child(lambda: 1 // 0), stop.child(lambda: calls.append("ended")):
        stop.set()
    assert calls == ["ended"]


def test_waits_without_a_signal_end_as_usual(stop):
    queue: SimpleQueue[int] = SimpleQueue()
    with pytest.raises(Empty):
        stop.get(queue, 0.01)
    queue.put(1)
    assert stop.get(queue) == 1
    stop.sleep(0.001)
    stop.join(threading.Thread())
    reader, writer = os.pipe()
    os.write(writer, b"abc")
    os.close(writer)
    assert b"".join(stop.pieces(reader)) == b"abc"
    os.close(reader)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_fork_and_not_its_parent(number):
    """As when a plugin ends a process of `multiprocessing`."""
    code = f"""
reader, writer = os.pipe()
child = os.fork()
if not child:
    os.write(writer, b"!")
    time.sleep(10)
    os._exit(5)
os.read(reader, 1)
os.kill(child, {int(number)})
_, status = os.waitpid(child, 0)
time.sleep(0.3)
print(os.waitstatus_to_exitcode(status), stop.is_set)
"""
    exit_code, lines, _ = ends(code)
    assert (exit_code, lines) == (0, [f"{-number} False"])
