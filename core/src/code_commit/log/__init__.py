"""The run folder and its records: files, events, `run.json`, log sinks, progress."""

from code_commit.log.document import RunDocument
from code_commit.log.folder import CallFiles, call_files, failure_text, numbered
from code_commit.log.log import RunLog
from code_commit.log.progress import Progress
from code_commit.log.streams import JsonLines, SafeStream, discard_output

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
    "numbered",
]
