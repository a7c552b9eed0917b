"""The tree of scopes: what ends, in which order, when, and what the end waits for."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from code_commit_workspace import Scope

SOON = 60  # seconds


def test_children_end_before_their_scope_and_the_newest_first():
    ended: list[str] = []
    scope = Scope()
    scope.on_end(partial(ended.append, "scope"))
    with (
        scope.child(partial(ended.append, "first")),
        scope.child(partial(ended.append, "second")) as second,
        second.child(partial(ended.append, "in second")),
    ):
        scope.end()
        scope.end()
        assert second.is_over
    assert ended == ["in second", "second", "first", "scope"]


def test_a_block_that_is_left_ends_what_is_in_it_alone():
    ended: list[str] = []
    scope = Scope()
    with scope.child(partial(ended.append, "block")) as block:
        in_block = block.child(partial(ended.append, "in it"))
        in_block.__enter__()
    assert ended == ["in it"]
    in_block.__exit__(None, None, None)
    scope.end()
    assert ended == ["in it"]


def test_what_begins_too_late_ends_at_once():
    ended: list[str] = []
    scope = Scope()
    scope.end()
    scope.on_end(partial(ended.append, "scope"))
    with scope.child(partial(ended.append, "child")) as child:
        assert ended == ["scope", "child"]
        assert child.is_over


def test_an_ending_that_fails_does_not_keep_the_others():
    ended: list[str] = []
    scope = Scope()
    scope.on_end(partial(ended.append, "scope"))
    scope.on_end(lambda: 1 // 0)
    scope.end()
    assert ended == ["scope"]


def test_the_end_is_waited_for():
    scope = Scope()
    told = threading.Event()
    begun = threading.Event()

    def work() -> None:
        with scope.child(told.set):
            begun.set()
            told.wait(SOON)

    with ThreadPoolExecutor() as pool:
        pool.submit(work)
        assert begun.wait(SOON)
        assert not scope.wait_until_over(0)
        scope.end()
        assert scope.wait_until_over(SOON)


def test_what_no_thread_is_in_is_closed():
    scope = Scope()
    process = scope.child(close=lambda: process.__exit__(None, None, None))
    process.__enter__()
    assert scope.wait_until_over(0)


def test_the_end_waits_until_what_starts_is_known():
    scope = Scope()
    ended = threading.Event()
    with ThreadPoolExecutor() as pool:
        with scope.starting():
            end = pool.submit(scope.end)
            while not scope.is_over:
                pass
            scope.on_end(ended.set)
            assert ended.is_set()
        end.result(SOON)


def test_the_end_does_not_wait_for_ever():
    scope = Scope()
    with ThreadPoolExecutor() as pool, scope.starting():
        pool.submit(scope.end).result(SOON)
    assert scope.is_over


def test_a_block_is_not_left_while_it_is_ended():
    scope = Scope()
    ending = threading.Event()
    has_ended = threading.Event()

    def end() -> None:
        ending.set()
        has_ended.wait(0.1)  # as long as the block may take to be left too early
        has_ended.set()

    with ThreadPoolExecutor() as pool:
        with scope.child(end):
            pool.submit(scope.end)
            assert ending.wait(SOON)
        assert has_ended.is_set()


PROCESS = """
import os, sys, time
from code_commit_workspace import STOP, Interrupted

def told(name):
    os.write(1, f"{name}\\n".encode())

def leave(code):
    STOP.end()
    os._exit(code)

STOP.listen(leave)
STOP.process.on_end(lambda: told("process"))
git = STOP.process.child(lambda: told("git"))
wait = STOP.child(lambda: told("wait"))
git.__enter__()
wait.__enter__()
if not os.fork():
    sys.exit(0)  # a fork ends nothing of its parent
os.wait()
told("ready")
if sys.argv[1] == "deaf":
    while True:
        time.sleep(1)
if sys.argv[1] == "interrupted":
    try:
        STOP.sleep(60)
    except Interrupted:
        told("interrupted")
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("how", "exit_code", "ended"),
    [
        ("exits", 3, ["wait", "git", "process"]),
        ("interrupted", 3, ["wait", "interrupted", "git", "process"]),
        ("deaf", 130, ["wait", "git", "process"]),
    ],
)
def test_a_signal_ends_what_is_waited_for_and_the_end_of_the_process_the_rest(
    how, exit_code, ended
):
    argv = [sys.executable, "-c", PROCESS, how]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        if how != "exits":
            process.send_signal(signal.SIGTERM)
        stdout, _ = process.communicate(timeout=SOON)
    assert (process.returncode, stdout.decode().split()) == (exit_code, ended)
