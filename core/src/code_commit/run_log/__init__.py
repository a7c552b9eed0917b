"""The run folder and what is told about a run: files, events, the run document, log sinks, progress."""

from code_commit.records.errors import describe
from code_commit.records.json_record import read_records
from code_commit.run_log.call_files import CallFiles, call_files, failure_text, numbered
from code_commit.run_log.document import RunDocument
from code_commit.run_log.frail_stream import FrailStream, lead_nowhere
from code_commit.run_log.json_lines import JsonLines
from code_commit.run_log.log import RunLog
from code_commit.run_log.progress import Progress
from code_commit.run_log.reading import RunSummary, find_run, list_runs, read_run

__all__ = [
    "CallFiles",
    "FrailStream",
    "JsonLines",
    "Progress",
    "RunDocument",
    "RunLog",
    "RunSummary",
    "call_files",
    "describe",
    "failure_text",
    "find_run",
    "lead_nowhere",
    "list_runs",
    "numbered",
    "read_records",
    "read_run",
]
