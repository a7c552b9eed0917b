"""The run folder and its records: files, events, `run.json`, log sinks, progress."""

from code_commit.log.folder import CallFiles, call_files, failure_text, numbered
from code_commit.log.log import RunLog
from code_commit.log.progress import Progress

__all__ = [
    "CallFiles",
    "Progress",
    "RunLog",
    "call_files",
    "failure_text",
    "numbered",
]
