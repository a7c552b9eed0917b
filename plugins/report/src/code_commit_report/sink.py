"""The log sink: gathers the records of a run, and writes `report.html` into its folder."""

from __future__ import annotations

from pathlib import Path

from code_commit.plugin_api import Record
from code_commit_report.run_view import RunView
from code_commit_report.settings import ReportSettings
from code_commit_report.whole_file import write_whole

REPORT, INDEX = "report.html", "index.html"


class HtmlReport:
    """Writes the page when the run is over; with the setting `live` after each build as well, for whoever watches."""

    def __init__(self, settings: ReportSettings) -> None:
        self._settings = settings
        self._view = RunView()
        self._folder: Path | None = None

    def receive(self, record: Record) -> None:
        """See `LogSink.receive`."""
        if record.kind == "run.started":
            self._folder = Path(str(record.data["root"]), str(record.data["folder"]))
        self._view.receive(record)
        if record.kind == "process.finished" and self._settings.live:
            self._write()

    def close(self) -> None:
        """See `LogSink.close`."""
        if self._folder is None:
            return
        self._write()
        if self._settings.index:
            from code_commit_report.index import index_page

            write_whole(self._folder.parent / INDEX, index_page(self._folder.parent))

    def _write(self) -> None:
        if self._folder is not None:
            from code_commit_report.page import report_page

            write_whole(self._folder / REPORT, report_page(self._view, self._folder, self._settings.text_limit))
