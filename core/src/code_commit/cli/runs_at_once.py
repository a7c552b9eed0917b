"""Several runs at the same time, each in a thread. A signal ends each of them well."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from pathlib import Path
from queue import SimpleQueue

from code_commit.plugin_api.errors import as_reported, exit_code_of
from code_commit.plugin_api.run import RunSummary
from code_commit.plugin_api.run_files import LOGS
from code_commit.terminal.streams import stdout_of_this_thread
from code_commit_workspace import STOP


def start_all(starts: Sequence[Callable[[], RunSummary]], at_once: int) -> Iterator[RunSummary]:
    """Call `starts`, `at_once` at the same time; yield their results in order.

    Raises:
        Interrupted: a signal came; the runs that had started have ended.
    """
    endings: list[SimpleQueue[RunSummary | None]] = [SimpleQueue() for _ in starts]
    waiting = deque(zip(starts, endings, strict=True))

    def work() -> None:
        while waiting:
            try:
                start, ending = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            ending.put(None if STOP.is_set else _ending_of(start))

    threads = [
        threading.Thread(target=copy_context().run, args=(work,), name="run", daemon=True)
        for _ in range(min(at_once, len(starts)))
    ]
    with stdout_of_this_thread():
        for thread in threads:
            thread.start()
        try:
            for ending in endings:
                # No `STOP.get`: after a signal, the runs still put files back.
                summary = ending.get()
                if summary is None:
                    break
                yield summary
        finally:
            waiting.clear()
            for thread in threads:
                thread.join()
    STOP.check()


def _ending_of(start: Callable[[], RunSummary]) -> RunSummary:
    try:
        return start()
    except BaseException as error:  # noqa: BLE001 - as a single run
        reported = as_reported(error)
        return RunSummary(Path(LOGS), exit_code_of(reported), reported.message)
