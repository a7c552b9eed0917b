"""The log sink: collects the records of a run, and writes `report.html` into its folder."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from threading import Thread

from code_commit.plugin_api import Record, is_running
from code_commit_report.run_view import RunView
from code_commit_report.settings import ReportSettings
from code_commit_workspace import replace_file

REPORT = "report.html"
INDEX = "index.html"
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


class HtmlReport:
    """Writes the page when the run ends; with the setting `live`, also at each step.

    It can receive several runs one after another, and then writes the index once, at the end.
    """

    def __init__(self, settings: ReportSettings) -> None:
        self._settings = settings
        self._view = RunView()
        self._folder: Path | None = None
        self._logs: Path | None = None
        self._loading: Thread | None = None

    def receive(self, record: Record) -> None:
        """See `LogSink.receive`."""
        if record.kind == "run.started":
            self._folder = _folder_of(record)
            self._logs = self._folder.parent
        self._view.receive(record)
        if record.kind == "call.started" and self._loading is None:
            # Load while the model works: the imports are slower than everything else here.
            self._loading = Thread(target=_load, name="report")
            self._loading.start()
        if self._settings.live and record.kind in _LIVE_KINDS:
            self._write(running=True)

    def next_run(self) -> None:
        """See `LogSink`."""
        try:
            self._write()
        finally:
            self._view = RunView()
            self._folder = None

    def close(self) -> None:
        """See `LogSink.close`."""
        if self._view.never_began:
            return
        self._write()
        if self._logs is not None and self._settings.index:
            from code_commit_report.index import index_page

            replace_file(self._logs / INDEX, index_page(self._logs).encode())

    def _write(self, *, running: bool | None = None) -> None:
        if self._folder is None:
            return
        if self._loading is not None:
            self._loading.join()
        from code_commit_report.page import report_page

        page = report_page(
            self._view,
            self._folder,
            self._settings.text_limit,
            index=self._settings.index,
            running=is_running(self._folder) if running is None else running,
        )
        replace_file(self._folder / REPORT, page.encode())


def _folder_of(record: Record) -> Path:
    """Return the run folder. Records are JSON, so a byte that is not UTF-8 is an escape in them."""
    folder = Path(str(record.data["root"]), str(record.data["folder"]))
    if folder.exists():
        return folder
    return Path(_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), str(folder)))


def _load() -> None:
    """Import the modules of a page. An import error is reported where a module is used."""
    with suppress(Exception):
        import pygments.lexers  # noqa: F401 - for later

        from code_commit_report.page import warm_up

        warm_up()
