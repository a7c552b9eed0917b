"""Which code of plugins runs now, so that a run that hangs can name it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass

_LOOKS = 12  # of a watch, in the time after which it reports


@dataclass(eq=False, slots=True)
class _Part:
    """Code that runs, "" for the host's; `since` is when it began or went on."""

    text: str
    since: float
    reported: bool = False


class RunningCode:
    """The code that runs in a process or in a run. What began last is what the rest waits for."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._lock = threading.Lock()

    @contextmanager
    def enter(self, text: str) -> Iterator[None]:
        """Note that the block runs the code that `text` names; "" is work of the host."""
        part = _Part(text, time.monotonic())
        with self._lock:
            self._parts.append(part)
        try:
            yield
        finally:
            with self._lock:
                self._parts.remove(part)
                if self._parts:  # it goes on
                    self._parts[-1].since = time.monotonic()
                    self._parts[-1].reported = False

    def describe(self, seconds: float = 0.0) -> str:
        """Return whose code runs for more than `seconds`, and since when; else an empty text."""
        part = self._latest(seconds)
        if part is None:
            return ""
        return f"{part.text}... {int(time.monotonic() - part.since)} s"

    def _latest(self, seconds: float) -> _Part | None:
        with self._lock:
            part = self._parts[-1] if self._parts else None
        if part is None or not part.text or time.monotonic() - part.since < seconds:
            return None
        return part

    @contextmanager
    def watch(self, report: Callable[[str], object], *, seconds: float) -> Iterator[None]:
        """During the block, report once whose code makes no progress for `seconds`."""
        over = threading.Event()

        def look() -> None:
            _RUNNING.set(RunningCode())  # what `report` runs is no progress
            while not over.wait(seconds / _LOOKS):
                part = self._latest(seconds)
                if part and not part.reported:
                    part.reported = True
                    report(part.text)

        context = copy_context()
        thread = threading.Thread(target=context.run, args=(look,), name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()


_IN_PROCESS = RunningCode()
_RUNNING: ContextVar[RunningCode] = ContextVar("running code", default=_IN_PROCESS)


def running_code() -> RunningCode:
    """Return what runs in this run; before a run, what runs in the process."""
    return _RUNNING.get()


@contextmanager
def running_apart() -> Iterator[RunningCode]:
    """Collect what runs in the block by itself: it is a run."""
    code = RunningCode()
    token = _RUNNING.set(code)
    try:
        yield code
    finally:
        _RUNNING.reset(token)


@contextmanager
def running(part: str, distribution: str) -> Iterator[None]:
    """Note that the block runs this part of a plugin, such as "the hook x"."""
    with _RUNNING.get().enter(f"{part} of {distribution}"):
        yield


@contextmanager
def host_works() -> Iterator[None]:
    """Note that the block is work of the host, which its caller waits for."""
    with _RUNNING.get().enter(""):
        yield
