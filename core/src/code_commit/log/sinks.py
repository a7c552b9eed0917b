"""Delivers records to the log sinks, in order. No sink can stop another one, or the run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue

from code_commit.plugin_api.errors import describe
from code_commit.plugin_api.event import LogSink, PluginFailed, Record

HOST = "code-commit"
_LONGEST_RECEIVE, _LONGEST_CLOSE = 15.0, 90.0  # seconds for one call of a plugin's sink
_PATIENCE = 5.0  # seconds that the end of a run waits for a sink in use by another thread


class Sinks:
    """The sinks of a run. `report` is called with a failure once per sink."""

    def __init__(self, report: Callable[[PluginFailed], None]) -> None:
        self._report = report
        self._outlets: tuple[_Outlet, ...] = ()
        self._delivering = threading.local()

    def add(self, plugin: str, distribution: str, sink: LogSink, backlog: Iterable[Record]) -> None:
        """Queue the records of `backlog` for `sink`, then all that follow."""
        self._outlets = (*self._outlets, _Outlet(plugin, distribution, sink, deque(backlog)))

    def put(self, record: Record) -> None:
        """Queue a record for every sink."""
        for outlet in self._outlets:
            if not outlet.closed:
                outlet.pending.append(record)

    @property
    def delivering_here(self) -> bool:
        """Whether this thread is inside a sink."""
        return getattr(self._delivering, "now", False)

    def deliver(self) -> None:
        """Deliver what is queued. A sink in use by another thread is served by that thread."""
        for outlet in self._outlets:
            self._drain(outlet, patience=0)

    def close(self) -> None:
        """Deliver the rest and close every sink. After an interruption, a second call continues."""
        for outlet in self._outlets:
            self._drain(outlet, patience=_PATIENCE)
            if outlet.closed:
                continue
            outlet.closed = True
            if outlet.pending:
                self._report(_failure(outlet, "receive", "still busy with an earlier record when the run ended"))
            elif error := outlet.call("close", self._guarded, patience=_LONGEST_CLOSE):
                self._report(_failure(outlet, "close", error))

    def _drain(self, outlet: _Outlet, patience: float) -> None:
        # Look at `pending` again after `busy` is released: nobody else delivers a record queued in between.
        while outlet.pending and not outlet.closed:
            if not outlet.busy.acquire(timeout=patience):
                return
            error = ""
            try:
                while outlet.pending and not outlet.closed:
                    record = outlet.pending.popleft()
                    if error := outlet.call("receive", self._guarded, record, patience=_LONGEST_RECEIVE):
                        outlet.closed = True
            finally:
                outlet.busy.release()
            if error:
                self._report(_failure(outlet, "receive", error))
                outlet.call("close", self._guarded, patience=_LONGEST_CLOSE)

    def _guarded(self, act: Callable[[], None]) -> str:
        """Run a sink's code and return its error in words, or nothing."""
        self._delivering.now = True
        try:
            act()
        except KeyboardInterrupt:
            if threading.current_thread() is threading.main_thread():
                raise  # Ctrl-C
            return "KeyboardInterrupt"
        except BaseException as error:  # noqa: BLE001 - a plugin's code may raise anything
            return describe(error)
        finally:
            self._delivering.now = False
        return ""


class _Outlet:
    """A sink and the records that wait for it.

    A plugin's sink runs in a thread of its own, and the run waits for it: records arrive in order, one at a time, and
    a sink that hangs costs the run a limited wait.
    """

    def __init__(self, plugin: str, distribution: str, sink: LogSink, backlog: deque[Record]) -> None:
        self.plugin = plugin
        self.distribution = distribution
        self.sink = sink
        self.pending = backlog
        self.busy = threading.Lock()
        self.closed = False
        self._lost = False
        self._asked: SimpleQueue[tuple[Callable[[], str], SimpleQueue[str]]] | None = None

    def call(self, method: str, guarded: Callable[[Callable[[], None]], str], *given: Record, patience: float) -> str:
        """Call a method of the sink; return its error in words, or nothing."""

        def act() -> str:
            return guarded(lambda: getattr(self.sink, method)(*given))

        if self.distribution == HOST:
            return act()
        if self._lost:
            return ""  # reported already
        if self._asked is None:
            self._asked = SimpleQueue()
            threading.Thread(target=_work, args=(self._asked,), name=f"sink {self.plugin}", daemon=True).start()
        answer: SimpleQueue[str] = SimpleQueue()
        self._asked.put((act, answer))
        try:
            return answer.get(timeout=patience)
        except Empty:
            self._lost = True
            return f"it did not come back within {patience:g} s"


def _work(asked: SimpleQueue[tuple[Callable[[], str], SimpleQueue[str]]]) -> None:
    while True:
        act, answer = asked.get()
        answer.put(act())


def _failure(outlet: _Outlet, stage: str, error: str) -> PluginFailed:
    return PluginFailed(outlet.plugin, outlet.distribution, f"log sink: {stage}", error)
