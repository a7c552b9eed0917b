"""Deliver records to the log sinks in order.

A failing sink stops neither the others nor the run.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from code_commit.plugin_api.event import PluginFailed
from code_commit.plugin_api.host import HOST
from code_commit.plugin_api.record import LogSink, Record
from code_commit.plugin_api.running_code import running
from code_commit.plugin_api.sync_result import require_sync
from code_commit.threads import Worker
from code_commit_workspace.words import describe, traceback_of

_RECEIVE_SECONDS = 15.0  # for one call of a plugin's sink
_CLOSE_SECONDS = 90.0
_RECEIVE_AFTER_SIGNAL = 1.0  # for one that begins after a signal
_CLOSE_AFTER_SIGNAL = 5.0
_BUSY_SECONDS = 5.0  # at the end of a run, for a sink in use by another thread


class Sinks:
    """The sinks of a run. `report` is called with one failure per sink."""

    def __init__(self, report: Callable[[PluginFailed], None]) -> None:
        self._report = report
        self.traces: list[str] = []  # of what the sinks raised
        self._outlets: tuple[_Outlet, ...] = ()
        self._delivering = threading.local()

    def add(self, plugin: str, distribution: str, sink: LogSink, backlog: Iterable[Record]) -> None:
        """Add a sink, which receives the records of `backlog` and all later ones."""
        worker = None
        if distribution != HOST:
            worker = Worker(f"sink {plugin}")
        outlet = _Outlet(plugin, distribution, sink, pending=deque(backlog), worker=worker)
        self._outlets = (*self._outlets, outlet)

    def put(self, record: Record, *, live: bool = False) -> None:
        """Queue a record for every sink; with `live`, only for those that show what happens now."""
        for outlet in self._outlets:
            if not outlet.closed and (not live or getattr(outlet.sink, "live", False)):
                outlet.pending.append(record)

    @property
    def delivering_here(self) -> bool:
        """Whether this thread is inside a call of a sink."""
        return getattr(self._delivering, "now", False)

    def deliver(self) -> None:
        """Deliver queued records. The thread that uses a sink delivers its records."""
        for outlet in self._outlets:
            self._drain(outlet, timeout=0)

    def close(self) -> None:
        """Deliver the remaining records and close every sink."""
        for outlet in self._outlets:
            self._drain(outlet, timeout=_BUSY_SECONDS)
            if outlet.closed:
                continue
            outlet.closed = True
            if outlet.pending:
                self._fail(
                    outlet, "receive", "was still busy with an earlier record at the end of the run"
                )
            elif error := self._call(outlet, "close", seconds=_CLOSE_SECONDS):
                self._fail(outlet, "close", error)

    def _drain(self, outlet: _Outlet, timeout: float) -> None:
        # Check `pending` again after releasing `busy`: no other thread delivers a record queued in
        # between.
        while outlet.pending and not outlet.closed and outlet.busy.acquire(timeout=timeout):
            try:
                if error := self._call(outlet, "receive", seconds=_RECEIVE_SECONDS):
                    outlet.closed = True
            finally:
                outlet.busy.release()
            if error:
                self._fail(outlet, "receive", error)
                self._call(outlet, "close", seconds=_CLOSE_SECONDS)

    def _call(self, outlet: _Outlet, method: str, *, seconds: float) -> str:
        """Call a method of the sink; return its error as text, or an empty text."""
        if outlet.worker is None:
            return self._run_safely(outlet, method)
        if outlet.hangs:
            return ""
        call = partial(self._run_safely, outlet, method)
        closes = method == "close"
        after_signal = _CLOSE_AFTER_SIGNAL if closes else _RECEIVE_AFTER_SIGNAL
        try:
            with running(f"the log sink {outlet.plugin}", outlet.distribution):
                return outlet.worker.call(call, seconds=seconds, after_signal=after_signal)
        except TimeoutError as error:
            outlet.hangs = True
            return str(error)

    def _fail(self, outlet: _Outlet, stage: str, error: str) -> None:
        self._report(
            PluginFailed(
                outlet.plugin, outlet.distribution, stage=f"log sink: {stage}", error=error
            )
        )

    def _run_safely(self, outlet: _Outlet, method: str) -> str:
        self._delivering.now = True
        try:
            if method == "close":
                require_sync(outlet.sink.close())
            elif outlet.pending and not outlet.closed:
                require_sync(outlet.sink.receive(outlet.pending[0]))
                outlet.pending.popleft()
        except BaseException as error:  # noqa: BLE001 - a plugin's code may raise anything
            self.traces.append(traceback_of(error))
            return describe(error, with_hint=True)
        finally:
            self._delivering.now = False
        return ""


@dataclass(eq=False, slots=True)
class _Outlet:
    """A sink and its queued records.

    A plugin's sink runs in its own thread, and the run waits for it: records arrive in order, and a
    hanging sink delays the run for a limited time.
    """

    plugin: str
    distribution: str
    sink: Any  # a `LogSink`, if the plugin is right
    pending: deque[Record]
    worker: Worker | None  # None for a sink of the host
    busy: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False
    hangs: bool = False  # in a call that was reported
