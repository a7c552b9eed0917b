"""The log sink: leaves the page of a run in its folder, and a row in the list of all runs."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    Record,
    describe_changes,
    is_running,
    read_records,
    read_summary,
)
from code_commit_report.index_line import INDEX, REPORT, append_entry, entry_of
from code_commit_report.settings import ReportSettings
from code_commit_report.short_page import short_page
from code_commit_workspace import replace_file

if TYPE_CHECKING:
    from code_commit_report.run_view import RunView

_ESCAPE = re.compile(r"\\u(dc[89a-f][0-9a-f])")
_LIVE_KINDS = frozenset(
    {
        "run.started",
        "call.started",
        "call.finished",
        "changes.applied",
        "process.started",
        "process.finished",
    }
)
# A run without any of these did not begin: the host removes its folder.
_WORK = frozenset(
    {"attempt.started", "call.started", "changes.applied", "changes.refused", "process.started"}
)


class HtmlReport:
    """Writes the short page when the run ends; with the setting `live`, the whole one at each step.

    It can receive earlier runs one after another. Then it writes the whole page of each, and the
    whole list of runs once, at the end.
    """

    page = REPORT
    index = INDEX

    def __init__(self, settings: ReportSettings) -> None:
        self._settings = settings
        self._view: RunView | None = None  # for the whole page
        self._folder: Path | None = None
        self._logs: Path | None = None
        self._has_begun = False

    def receive(self, record: Record) -> None:
        """See `LogSink.receive`."""
        if record.kind == "run.started":
            self._folder = _folder_of(record)
            self._logs = self._folder.parent
            is_whole = self._settings.live or self._settings.whole
            if is_whole or not is_running(self._folder):
                from code_commit_report.run_view import RunView

                self._view = RunView()
        self._has_begun |= record.kind in _WORK
        if self._view is not None:
            self._view.receive(record)
            if self._settings.live and record.kind in _LIVE_KINDS:
                self._write_page(self._view, running=True)

    def next_run(self) -> None:
        """See `LogSink`."""
        try:
            if self._folder is not None:
                self._write_page(self._view or _view_of(self._folder))
        finally:
            self._view = None
            self._folder = None
            self._has_begun = False

    def close(self) -> None:
        """See `LogSink.close`."""
        if self._folder is not None:
            self._end_run(self._folder)
        elif self._logs is not None and self._settings.index:
            self._write_index(self._logs)

    def _end_run(self, folder: Path) -> None:
        document = read_summary(folder)
        if document.get("outcome") in {"not_ready", "usage"} and not self._has_begun:
            return
        index = self._settings.index
        if self._view is not None:
            self._write_page(self._view)
        else:
            page = short_page(folder, document, limit=self._settings.text_limit, index=index)
            replace_file(folder / REPORT, page.encode())
        if index:
            append_entry(folder.parent, entry_of(folder, document))

    def _write_page(self, view: RunView, *, running: bool | None = None) -> None:
        from code_commit_report.page import report_page

        if self._folder is None:
            return
        if running is None:
            running = is_running(self._folder)
        changes = "" if running else describe_changes(read_summary(self._folder))
        page = report_page(
            view,
            self._folder,
            self._settings.text_limit,
            changes=changes,
            index=self._settings.index,
            running=running,
        )
        replace_file(self._folder / REPORT, page.encode())

    def _write_index(self, logs: Path) -> None:
        from code_commit_report.index import index_page

        replace_file(logs / INDEX, index_page(logs).encode())


def _view_of(folder: Path) -> RunView:
    from code_commit_report.run_view import RunView

    view = RunView()
    with suppress(OSError):
        for record in read_records(folder / "events.jsonl"):
            view.receive(record)
    return view


def _folder_of(record: Record) -> Path:
    """Return the run folder. Records are JSON, so a byte that is not UTF-8 is an escape in them."""
    folder = Path(str(record.data["root"]), str(record.data["folder"]))
    if folder.exists():
        return folder
    return Path(_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), str(folder)))
