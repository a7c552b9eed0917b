"""Ctrl-C and SIGTERM end what the main thread does, also where Python would drop the exception."""

from __future__ import annotations

import atexit
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from code_commit_workspace import (
    call_on_interruption,
    forget_partial_imports,
    raise_on_signals,
    signaled,
    signals,
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What was called: the function for each signal, and what follows at exit."""
    found: list[object] = []
    before = {number: signal.getsignal(number) for number in (*signals.SIGNALS, signal.SIGALRM)}
    monkeypatch.setattr(atexit, "register", lambda *call: found.append(call))
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(signals, "_arrived", signals._arrived)
    yield found
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in before.items():
        signal.signal(number, handler)


def wait() -> None:
    for _ in range(600):  # a signal just before a wait is only noticed after it
        select.select([], [], [], 0.1)


def test_each_signal_raises_unless_it_is_ignored(calls, monkeypatch):
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr(signals, "time", clock)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise_on_signals(lambda: calls.append("before"))
    assert not signaled()
    for number in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    signal.raise_signal(signal.SIGHUP)
    at_exit = [
        (signal.signal, number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    ]
    assert calls == [*at_exit, "before", "before"]
    clock.monotonic = lambda: 101.9
    assert signaled()
    clock.monotonic = lambda: 102.0
    assert not signaled()


def test_in_the_import_system_a_signal_waits_until_it_is_left(calls):
    raise_on_signals(lambda: calls.append("before"))
    del calls[:]
    code = compile(
        "raise_signal(15); calls.append('after')", "<frozen importlib._bootstrap>", "exec"
    )
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come before the wait
        FunctionType(code, {"raise_signal": signal.raise_signal, "calls": calls})()
        wait()
    assert calls == ["before", "after", "before"]


@pytest.mark.parametrize(
    "file", ["<frozen importlib._bootstrap>", signals.__file__, threading.__file__]
)
def test_a_signal_does_not_wait_for_ever(calls, monkeypatch, file):
    monkeypatch.setattr(signals, "_PAUSE", 60)
    raise_on_signals(lambda: None)
    handler: Any = signal.getsignal(signal.SIGTERM)
    frame = SimpleNamespace(f_code=SimpleNamespace(co_filename=file, co_name="locked"), f_lasti=0)
    for _ in range(2):
        for _ in range(signals._PAUSES - 1):
            frame.f_lasti += 2
            handler(signal.SIGTERM, frame)
        frame.f_lasti += 2
        with pytest.raises(KeyboardInterrupt):
            handler(signal.SIGTERM, frame)
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGTERM, None)
    frame.f_code.co_name = "wait"
    with pytest.raises(KeyboardInterrupt):
        handler(signal.SIGTERM, frame)


def test_a_signal_ends_a_call_that_blocks_inside_a_library(calls, monkeypatch):
    monkeypatch.setattr(signals, "_PAUSES", 10**6)
    raise_on_signals(lambda: calls.append("before"))
    begun = threading.Event()

    def interrupt():
        begun.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    threading.Thread(target=interrupt, daemon=True).start()
    with subprocess.Popen(["sleep", "60"]) as process:
        # As in a run: the signal may come just before the wait, and would only be noticed after it.
        with pytest.raises(KeyboardInterrupt), call_on_interruption():  # noqa: PT012 - it may come before the wait
            begun.set()
            process.wait()
        process.kill()


class Dying:
    """Something whose end calls a function."""

    def __init__(self, end):
        self._end = end

    def __del__(self):
        self._end()


def test_an_interruption_that_python_drops_is_raised_again(calls, monkeypatch):
    # Not in the fixture: pytest 8.3 sets a hook of its own for the test itself.
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: calls.append(unraisable.exc_type))
    raise_on_signals(lambda: calls.append("before"))
    del calls[:]

    def interrupt():
        raise KeyboardInterrupt

    for end in (interrupt, lambda: 1 // 0):
        Dying(end)
    assert calls == [KeyboardInterrupt, ZeroDivisionError], "no signal came"
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come before the wait
        Dying(lambda: signal.raise_signal(signal.SIGTERM))
        wait()
    Dying(lambda: 1 // 0)
    assert calls[2:] == ["before", "before", ZeroDivisionError]


def test_modules_whose_package_was_not_imported_are_forgotten(monkeypatch):
    modules = dict.fromkeys(["whole", "whole.part", "broken.part", "broken.part.inner", "alone"])
    monkeypatch.setattr(signals, "sys", SimpleNamespace(modules=modules))
    forget_partial_imports()
    assert list(modules) == ["whole", "whole.part", "alone"]
