"""Show a running fleet to people and programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import Host, can_repaint, count_of
from code_commit_fleet.fleet_folder import REACHED, Tried
from code_commit_fleet.plan import Plan, Unit

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """Shows starts and ends of units.

    They are JSON events on stdout, or lines on stderr, with a bar on a terminal.
    """

    def __init__(self, host: Host, *, as_json: bool) -> None:
        self._host = host
        self._json = as_json
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._seq = 0
        self._ended = 0
        self._total = 0
        self._running = 0
        self._cost = 0.0

    def begin(self, plan: Plan, records: Mapping[str, Tried], waiting: Collection[Unit]) -> None:
        """Show how many units will run."""
        self._total = len(waiting)
        finished = len(plan.units) - len(waiting)
        self.event("fleet.started", units=len(plan.units), waiting=len(waiting), pilot=plan.pilot)
        if self._json:
            return
        units = count_of(len(plan.units), "unit")
        self._host.out.note(f"{units}, {finished} finished before" if records else units)
        if self._total and can_repaint(sys.stderr, self._host.environ):
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = [
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.description}"),
                TimeElapsedColumn(),
            ]
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=self._total)
            self._bar.start()

    def unit(self, kind: str, unit: Unit, tried: Tried | None) -> None:
        """Show that a unit started, or ended as `tried` says."""
        if tried is None:
            self._running += 1
            self.event(kind, unit=unit.unit, repository=unit.repository, model=unit.model)
        else:
            self._running -= 1
            self._ended += 1
            self._cost += tried.cost or 0.0
            self.event(kind, **tried.document())
            if not self._json:
                self._line(unit, tried)
        if self._bar is not None and self._task is not None:
            text = f"{self._running} running, ${self._cost:.4f}"
            self._bar.update(
                self._task,
                completed=self._ended,
                description=text,
                total=max(self._total, self._ended),
            )

    def _line(self, unit: Unit, tried: Tried) -> None:
        ending = tried.outcome
        if tried.error and tried.outcome != REACHED:
            ending += f": {tried.error_line(160)}"
        facts = f"{tried.seconds:.1f} s"
        if tried.cost is not None:
            facts += f", {tried.shown_cost}"
        line = f"{unit.repository} {unit.model}: {ending} ({facts})"
        self._host.out.note(f"[{self._ended}/{self._total}] {line}")

    def event(self, kind: str, **data: Any) -> None:
        """Print an event if `--json` is given."""
        if not self._json:
            return
        self._seq += 1
        event = {
            "seq": self._seq,
            "time": round(time.time(), 3),
            "kind": kind,
            "data": data,
            "version": 1,
        }
        self._host.out.line(json.dumps(event))
        sys.stdout.flush()

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
