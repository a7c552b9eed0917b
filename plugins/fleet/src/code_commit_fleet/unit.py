"""Run one unit on a worker: clone, set up, change, and pack the result. Dask calls `run_unit`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    STOP,
    CodeCommitError,
    ExitCode,
    Interrupted,
    NotReady,
    describe,
    describe_ending,
)
from code_commit_fleet import bundle
from code_commit_fleet.checkout import WorkerFolder, patch_of, push
from code_commit_fleet.preparing import prepare, require_build
from code_commit_fleet.unit_process import Ended, run_code_commit
from code_commit_fleet.unit_result import (
    LONGEST,
    bounded,
    files_of,
    first_error,
    record_of,
    run_folder,
)
from code_commit_fleet.worker_keys import copy_keys, require_hidden_tls_keys, worker_redactor

_stopped: set[str] = set()
_seen: set[str] = set()
_folder: list[WorkerFolder] = []
_guard = threading.Lock()
# One at a time: packing a large result takes several times its size in memory.
_packing = threading.Lock()


def run_unit(payload: bytes) -> bytes:
    """Run the unit that `payload` describes, and return its result (see `bundle`). Never raise.

    No try runs twice here, although Dask asks for that after it lost the first result.
    """
    started = time.monotonic()
    name = "unit"
    running: _Unit | None = None
    folder: Path | None = None
    patch = b""
    try:
        order = json.loads(payload)
        name = f"{order['unit']}-{order['try']}"
        _require_new(name)
        running = _Unit(order, name)
        record, folder, patch = running.run()
    except BaseException as error:  # noqa: BLE001 - a worker reports every error in its result
        record = _record_of_error(error, running)
    record["seconds"] = round(time.monotonic() - started, 3)
    redactor = worker_redactor()
    try:
        with _packing:
            return bundle.pack(bounded(redactor.json(record)), files_of(folder, patch, redactor))
    except Exception as error:  # noqa: BLE001 - as above
        return bundle.pack({**record, "error": redactor.text(describe(error))[:LONGEST]}, [])
    finally:
        if _folder:
            _folder[0].remove(name)


def _record_of_error(error: BaseException, running: _Unit | None) -> dict[str, Any]:
    """Return the record of a unit that an error ended, before or after it was `running`."""
    record: dict[str, Any] = {
        "outcome": "not_ready",
        "exit_code": ExitCode.NOT_READY,
        "error": error.message if isinstance(error, CodeCommitError) else describe(error),
        "cost": 0.0,
    }
    stopped = running is not None and running.stopped()
    if stopped or isinstance(error, Interrupted):
        record |= {"outcome": "interrupted", "exit_code": ExitCode.INTERRUPTED}
    if running is not None and running.paid:
        record |= {"cost": None, "unknown": True}
    return record


def _require_new(name: str) -> None:
    with _guard:
        if name in _seen:
            raise NotReady(f"the try {name} has already run on this worker")
        _seen.add(name)


def stop_units(names: list[str]) -> None:
    """End these units, as Ctrl-C does."""
    _stopped.update(names)


def _worker_folder() -> WorkerFolder:
    with _guard:
        if not _folder:
            _folder.append(WorkerFolder())
            STOP.process.on_end(_folder[0].close)
        return _folder[0]


def _unwanted() -> Callable[[], bool]:
    """Return a function that tells whether the driver of this task is gone."""
    try:
        from distributed import get_worker
        from distributed import worker as tasks

        worker = get_worker()
        key = tasks.thread_state.key  # type: ignore[attr-defined]
    except (ImportError, ValueError, AttributeError):
        return lambda: False  # not on a worker

    def unwanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is None or task.state == "cancelled"

    return unwanted


class _Unit:
    """One try of a unit. `order` is what the driver sent."""

    def __init__(self, order: dict[str, Any], name: str) -> None:
        self.order = order
        self.name = name
        self.deadline = time.monotonic() + float(order["unit_timeout"])
        self.paid = False  # whether a call may have been paid for
        unwanted = _unwanted()
        self.stopped: Callable[[], bool] = lambda: name in _stopped or unwanted()

    def run(self) -> tuple[dict[str, Any], Path | None, bytes]:
        """Return the record of the unit, its run folder, and its patch.

        Raises:
            NotReady: it could not begin.
        """
        order = self.order
        require_hidden_tls_keys(order["sandbox"])
        project = _worker_folder().checkout(
            order["url"], order["ref"], order["commit"], self.name, timeout=order["clone_timeout"]
        )
        prepare(project, order["build"])
        copy_keys(Path(order["url"]), project)
        if order["setup"]:
            self._set_up(project)
        require_build(project)
        self.paid = True
        ended = self._code_commit(self._arguments(), project, order["query"])
        record = record_of(ended, project)
        patch = patch_of(project, record["files"])
        if order["push"] and record["outcome"] == "reached":
            record |= self._pushed(project)
        return record, run_folder(project, ended), patch

    def _set_up(self, project: Path) -> None:
        arguments = ["fleet", "setup", "--sandbox", self.order["sandbox"]]
        ended = self._code_commit(arguments, project, self.order["setup"])
        if ended.exit_code != 0:
            ending = describe_ending(ended.exit_code)
            reason = ended.reason or first_error(ended.stderr) or ending
            raise NotReady(f"setup: {reason}")

    def _arguments(self) -> list[str]:
        order = self.order
        arguments = ["--rollup", "--json", "--quiet"]
        arguments += ["--model", order["model"]]
        arguments += ["--query-file", "-"]
        arguments += ["--sandbox", order["sandbox"]]
        if order["max_cost"] is not None:
            arguments += ["--max-cost", f"{order['max_cost']:.6f}"]
        if order["repairs"] is not None:
            arguments += ["--repairs", str(order["repairs"])]
        return arguments

    def _pushed(self, project: Path) -> dict[str, Any]:
        """Push the result; return what that changes in the record."""
        order = self.order
        branch = order["branch"]
        message = order["query"].strip().splitlines()[0][:72]
        try:
            push(project, order["url"], branch, message, timeout=order["clone_timeout"])
        except CodeCommitError as error:
            return {"outcome": "not_pushed", "error": error.message}
        return {"branch": branch}

    def _code_commit(self, arguments: list[str], project: Path, stdin: str) -> Ended:
        return run_code_commit(
            arguments,
            project,
            stdin=stdin.encode(),
            deadline=self.deadline,
            stopped=self.stopped,
        )
