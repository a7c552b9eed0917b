"""Threads of others, and a signal while they run."""

from __future__ import annotations

import contextvars
import threading
import time

import pytest

from code_commit.threads import Worker, run_concurrently
from code_commit_workspace import STOP, Interrupted

PATIENCE = 60


def test_steps_run_at_the_same_time_and_give_results_and_errors_in_order():
    both = threading.Barrier(3, timeout=PATIENCE)
    variable = contextvars.ContextVar("variable", default="none")
    variable.set("mine")
    failure = KeyError("x")

    def fail():
        both.wait()
        raise failure

    def first():
        both.wait()
        return variable.get()

    assert run_concurrently([first, fail, both.wait])[:2] == ["mine", failure]
    assert run_concurrently([]) == []
    assert run_concurrently([lambda: threading.current_thread().daemon] * 2) == [True, True]


def test_a_single_step_runs_in_this_thread():
    failure = KeyError("x")

    def fail():
        raise failure

    assert run_concurrently([threading.current_thread]) == [threading.current_thread()]
    assert run_concurrently([fail]) == [failure]

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_concurrently([interrupt])


def test_a_worker_gives_results_one_after_the_other_in_its_own_thread():
    worker = Worker("nobody else")
    threads = [worker.call(threading.current_thread, seconds=PATIENCE) for _ in range(2)]
    assert threads[0] is threads[1] is not threading.current_thread()
    assert (threads[0].name, threads[0].daemon) == ("nobody else", True)
    assert [thread.name for thread in threading.enumerate()].count("nobody else") == 1


def test_a_worker_that_does_not_come_back_is_given_up():
    worker, go = Worker("somebody"), threading.Event()
    with pytest.raises(TimeoutError, match=r"it did not end within 0\.01 s"):
        worker.call(go.wait, seconds=0.01)
    go.set()
    assert worker.call(lambda: 1, seconds=PATIENCE) == 1


def test_a_signal_gives_a_worker_one_more_second(monkeypatch):
    worker, stuck = Worker("stuck"), threading.Event()
    threading.Timer(0.1, lambda: monkeypatch.setattr(STOP, "is_set", True)).start()
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="interrupted before it ended"):
        worker.call(stuck.wait, seconds=PATIENCE)
    assert time.monotonic() - begin < PATIENCE / 2
    with pytest.raises(TimeoutError, match=r"it did not end within 0\.01 s"):
        worker.call(stuck.wait, seconds=PATIENCE, after_signal=0.01)
    stuck.set()


def test_a_signal_ends_the_wait_for_steps_that_block(monkeypatch):
    stuck = threading.Event()
    threading.Timer(0.1, STOP.set).start()
    monkeypatch.setattr(STOP, "is_set", False)  # and again after the test
    with pytest.raises(Interrupted):
        run_concurrently([stuck.wait, stuck.wait])
    stuck.set()
