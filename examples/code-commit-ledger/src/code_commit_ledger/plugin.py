"""A log sink: one line for each run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from code_commit.plugin_api import LogSink, Record, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.ledger]`."""
    return "code_commit_ledger.settings:LedgerSettings"


@hookimpl
def code_commit_log_sinks(settings: Any) -> list[LogSink]:
    """Return one sink, if a file is set."""
    return [] if settings.file is None else [Ledger(settings.file)]


class Ledger:
    """Counts tokens, and writes one line when the run ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._workflow = ""
        self._tokens = 0

    def receive(self, record: Record) -> None:
        """See `LogSink.receive`."""
        data = record.data
        if record.kind == "run.started":
            self._workflow = data["workflow"]
        elif record.kind == "call.finished":
            self._tokens += (data["input_tokens"] or 0) + (data["output_tokens"] or 0)
        elif record.kind == "run.finished":
            line = f"{record.run}\t{self._workflow}\t{data['outcome']}\t{self._tokens}\n"
            with self._file.expanduser().open("a", encoding="utf-8") as ledger:
                ledger.write(line)

    def close(self) -> None:
        """See `LogSink.close`."""
