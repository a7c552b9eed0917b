"""Hands records to the log sinks: each in order, and none can stop another or the run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from code_commit.records.errors import Interrupted
from code_commit.records.event import LogSink, PluginFailed, Record

_PATIENCE = 5.0  # seconds that the end of a run waits for a sink that another thread is still busy with


@dataclass(frozen=True, slots=True)
class SinkOwner:
    """Whom to name when a sink fails."""

    plugin: str
    distribution: str


class Sinks:
    """The sinks of a run. `report` is told of a failure once per sink."""

    def __init__(self, report: Callable[[PluginFailed], None]) -> None:
        self._report = report
        self._outlets: tuple[_Outlet, ...] = ()
        self._delivering = threading.local()

    def add(self, owner: SinkOwner, sink: LogSink, backlog: Iterable[Record]) -> None:
        """Let `sink` have the records of `backlog`, then all that follow."""
        self._outlets = (*self._outlets, _Outlet(owner, sink, deque(backlog)))

    def put(self, record: Record) -> None:
        """Queue a record for every sink. Called in the order of the records."""
        for outlet in self._outlets:
            if not outlet.closed:
                outlet.pending.append(record)

    @property
    def delivering_here(self) -> bool:
        """Whether this thread is inside a sink."""
        return getattr(self._delivering, "now", False)

    def deliver(self) -> None:
        """Hand on what is queued. What another thread is busy with, that thread hands on."""
        for outlet in self._outlets:
            self._drain(outlet, patience=0)

    def close(self) -> None:
        """Hand on the rest and close every sink. After an interruption, a second call goes on from there."""
        for outlet in self._outlets:
            self._drain(outlet, patience=_PATIENCE)
            if outlet.closed:
                continue
            outlet.closed = True
            if outlet.pending:
                self._report(_failure(outlet, "receive", "still busy with an earlier record when the run ended"))
            elif error := self._guarded(partial(_close, outlet.sink)):
                self._report(_failure(outlet, "close", error))

    def _drain(self, outlet: _Outlet, patience: float) -> None:
        # Looks at `pending` again after giving `busy` back: a record queued in between is nobody else's.
        while outlet.pending and not outlet.closed:
            if not outlet.busy.acquire(timeout=patience):
                return
            error = ""
            try:
                while outlet.pending and not outlet.closed:
                    receive = partial(_receive, outlet.sink, outlet.pending.popleft())
                    if error := self._guarded(receive):
                        outlet.closed = True
            finally:
                outlet.busy.release()
            if error:
                self._report(_failure(outlet, "receive", error))
                self._guarded(partial(_close, outlet.sink))

    def _guarded(self, act: Callable[[], None]) -> str:
        """Run a sink's code and return what went wrong in it."""
        self._delivering.now = True
        try:
            act()
        except Interrupted:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin's code may raise anything
            return describe(error)
        finally:
            self._delivering.now = False
        return ""


class _Outlet:
    def __init__(self, owner: SinkOwner, sink: LogSink, backlog: deque[Record]) -> None:
        self.owner = owner
        self.sink = sink
        self.pending = backlog
        self.busy = threading.Lock()
        self.closed = False


def _receive(sink: LogSink, record: Record) -> None:
    sink.receive(record)  # looked up here, where it is guarded: a plugin's object may lack it


def _close(sink: LogSink) -> None:
    sink.close()


def _failure(outlet: _Outlet, stage: str, error: str) -> PluginFailed:
    return PluginFailed(
        plugin=outlet.owner.plugin, distribution=outlet.owner.distribution, stage=f"log sink: {stage}", error=error
    )


def describe(error: BaseException) -> str:
    """Return the kind of an error and its words, on one line, whatever its `__str__` does."""
    try:
        words = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's exception class may raise anything
        words = ""
    name = type(error).__name__
    return f"{name}: {words}" if words else name
