"""The run folder and what is told about a run: files, events, the run document, log sinks, progress."""

from code_commit.log.call_files import CallFiles, call_files, failure_text, numbered
from code_commit.log.document import RunDocument
from code_commit.log.json_lines import JsonLines
from code_commit.log.log import RunLog
from code_commit.log.progress import Progress
from code_commit.log.reading import find_run, list_runs, read_run
from code_commit.log.safe_stream import SafeStream, lead_nowhere
from code_commit.plugin_api.errors import describe
from code_commit.plugin_api.run_files import read_records

__all__ = [
    "CallFiles",
    "JsonLines",
    "Progress",
    "RunDocument",
    "RunLog",
    "SafeStream",
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
