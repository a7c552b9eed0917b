"""Threads of others, and signals while they run."""

from __future__ import annotations

import contextvars
import os
import signal
import threading

import pytest

from code_commit.threads import Worker, run_concurrently
from code_commit_workspace.interruption import call_on_interruption, uninterrupted

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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_the_block(number):
    seen = []
    before = signal.signal(number, lambda *_: seen.append("handled"))
    try:
        with uninterrupted():
            signal.raise_signal(number)
            signal.raise_signal(number)
            seen.append("end of the block")
        assert seen == ["end of the block", "handled"]
        with uninterrupted():
            pass
        signal.raise_signal(number)
        assert seen[2:] == ["handled"]
        with uninterrupted(last=True):
            signal.raise_signal(number)
        assert seen[3:] == []
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_is_ignored_stays_ignored(number):
    told = threading.Event()
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with call_on_interruption(told.set), uninterrupted():
            assert signal.getsignal(number) is signal.SIG_IGN
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_IGN
        assert not told.is_set()
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("number", "ended"), [(signal.SIGINT, True), (signal.SIGTERM, True), (signal.SIGUSR1, False)]
)
def test_another_thread_is_told_of_an_interruption_at_once(number, ended):
    told, earlier = threading.Event(), {*threading.enumerate()}
    before = signal.signal(number, lambda *_: None)
    try:
        with call_on_interruption(told.set):
            signal.raise_signal(number)
            if ended:
                assert told.wait(PATIENCE)
                [watch] = {*threading.enumerate()} - earlier
                assert (watch.name, watch.daemon) == ("code-commit interruption", True)
        assert told.is_set() is ended
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.signal(number, before)


def test_blocks_around_another_are_told_too():
    told, inner = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with call_on_interruption(told.set), call_on_interruption(inner.set):
            signal.raise_signal(signal.SIGINT)
            assert told.wait(PATIENCE)
            assert inner.wait(PATIENCE)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_wait_that_began_with_the_signal_is_ended():
    def nudged(*_):
        raise InterruptedError

    before = signal.signal(signal.SIGINT, lambda *_: None), signal.getsignal(signal.SIGURG)
    try:
        with call_on_interruption():
            signal.signal(signal.SIGURG, nudged)
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(InterruptedError):
                threading.Event().wait(PATIENCE)
            signal.signal(signal.SIGURG, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGURG) == before[1]
    finally:
        signal.signal(signal.SIGINT, before[0])


def test_other_threads_leave_signals_alone():
    def work():
        with uninterrupted(), call_on_interruption(lambda: None):
            return signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    assert run_concurrently([work, os.getpid]) == [before, os.getpid()]
