"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from code_commit.plugin_api import LogSink, Record, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.settings:NewNameSettings"


@hookimpl
def code_commit_log_sinks(settings: Any) -> list[LogSink]:
    """Return the sink, if a file is set."""
    return [] if settings.file is None else [RunTable(settings.file.expanduser())]


class RunTable:
    """Appends a line to a file when a run ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._calls = 0

    def receive(self, record: Record) -> None:
        """Take the next record of the run. docs/run-folder.md lists the kinds and their data."""
        if record.kind == "call.finished":
            self._calls += 1
        elif record.kind == "run.finished":
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{record.run}\t{record.data['outcome']}\t{self._calls}\n")

    def close(self) -> None:
        """Release what the sink holds. It is called once, after the last record."""
