"""The run folder and its records: files, events, `run.json`, log sinks, progress."""

from code_commit.log.document import RunDocument, list_runs, read_run
from code_commit.log.folder import CallFiles, call_files, failure_text, numbered
from code_commit.log.log import RunLog
from code_commit.log.progress import Progress
from code_commit.log.streams import JsonLines, SafeStream, discard_output
from code_commit.plugin_api.run_files import find_run, read_records

__all__ = [
    "CallFiles",
    "JsonLines",
    "Progress",
    "RunDocument",
    "RunLog",
    "SafeStream",
    "call_files",
    "discard_output",
    "failure_text",
    "find_run",
    "list_runs",
    "numbered",
    "read_records",
    "read_run",
]
