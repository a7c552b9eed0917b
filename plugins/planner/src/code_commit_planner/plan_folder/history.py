"""Write and parse the lines of `planner_history.txt`. Times are local, without a zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from code_commit_planner.dialog.text import plain_lines, wrap

SUMMARY_LINES = 5
SUMMARY_WIDTH = 120
_INDENT = "  "
_NO_COMMIT = "no commit yet"
_IN_LINE = "%Y-%m-%d %H:%M:%S"
_IN_NAME = "%Y-%m-%d_%H-%M-%S"
_ENTRY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:- )?([A-Z]+ [A-Z]+)\b(.*)")
_REQUIREMENTS = re.compile(r"completed_requirements_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)\.md")


def now() -> datetime:
    """Return the local time in whole seconds."""
    return datetime.now().astimezone().replace(microsecond=0, tzinfo=None)


@dataclass(frozen=True, slots=True)
class Completed:
    """The files of a completion, named by one time."""

    when: datetime
    with_todo: bool = True

    @property
    def requirements(self) -> str:
        """Return the name of the requirements file."""
        return f"completed_requirements_{self.when.strftime(_IN_NAME)}.md"

    @property
    def todo(self) -> str:
        """Return the name of the todo file, which may be missing."""
        return f"completed_todo_{self.when.strftime(_IN_NAME)}.md"

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of the existing files."""
        if self.with_todo:
            return (self.requirements, self.todo)
        return (self.requirements,)


def completed_at(name: str) -> datetime | None:
    """Return the completion time from the file name `name`; None for any other file."""
    match = _REQUIREMENTS.fullmatch(name)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], _IN_NAME)  # noqa: DTZ007 - local time, as in the name
    except ValueError:
        return None


def timestamp(when: datetime) -> str:
    """Return `when` in the format of the history."""
    return when.strftime(_IN_LINE)


def refining(when: datetime) -> str:
    """Return the line for the start of refining."""
    return f"{timestamp(when)} - REFINING REQUIREMENTS (new_requirements.md)\n"


def git_head(when: datetime, commit: str | None) -> str:
    """Return the line for git's HEAD before the implementation; None means no commit yet."""
    return f"{timestamp(when)} - GIT HEAD ({commit or _NO_COMMIT})\n"


def start_implementing(when: datetime, summary: str) -> str:
    """Return the lines for the start of the implementation, with a summary of the requirements."""
    lines = "".join(f"{_INDENT}{line}\n" for line in summary_lines(summary))
    return f"{timestamp(when)} - START IMPLEMENTING (current_requirements.md)\n<<\n{lines}>>\n"


def attempting_recovery(when: datetime) -> str:
    """Return the line for resuming an interrupted run."""
    return f"{timestamp(when)} ATTEMPTING RECOVERY\n"


def skipped_recovery(when: datetime) -> str:
    """Return the line for marking an interrupted run as complete."""
    return f"{timestamp(when)} USER SKIPPED RECOVERY\n"


def completed(completion: Completed) -> str:
    """Return the line for completed requirements."""
    files = ", ".join(completion.files)
    return f"{timestamp(completion.when)} - COMPLETED REQUIREMENTS ({files})\n"


def git_commit(when: datetime, summary: str) -> str:
    """Return the line for the next commit. It has no id, because the commit contains this line."""
    return f"{timestamp(when)} - GIT COMMIT ({summary})\n"


def requested_changes(when: datetime) -> str:
    """Return the line for sending completed work back to the coach and the player."""
    return f"{timestamp(when)} USER REQUESTED CHANGES\n"


def reworded(history: str, summary: str) -> str:
    """Return `history` with `summary` in its last entry, if that is a commit."""
    last = next(_entries(history), None)
    if last is None or last[1] != "GIT COMMIT":
        return history
    before, line, after = history.rpartition(last.string)
    return f"{before}{line[: last.start(2)]} ({summary}){after}"


def summary_lines(text: str) -> list[str]:
    """Return a model's summary for the history.

    It has at most 5 lines of at most 120 characters, indent included.
    """
    lines = []
    for line in plain_lines(text):
        lines += wrap(line, SUMMARY_WIDTH - len(_INDENT))
    return lines[:SUMMARY_LINES]


def is_recorded(history: str, completion: Completed) -> bool:
    """Return whether the history records the completion."""
    details = f" ({completion.requirements}"
    return any(
        entry[1] == "COMPLETED REQUIREMENTS" and entry[2].startswith(details)
        for entry in _entries(history)
    )


def is_started(history: str) -> bool:
    """Return whether the implementation that was refined last has started."""
    return any(entry[1] == "START IMPLEMENTING" for entry in _since_refined(history))


def is_head_recorded(history: str, commit: str | None) -> bool:
    """Return whether the implementation that was refined last started at `commit`."""
    heads = [entry[2] for entry in _since_refined(history) if entry[1] == "GIT HEAD"]
    return bool(heads) and heads[0] == f" ({commit or _NO_COMMIT})"


def _since_refined(history: str) -> Iterator[re.Match[str]]:
    """Yield the entries of the implementation that was refined last, newest first."""
    for entry in _entries(history):
        if entry[1] in {"REFINING REQUIREMENTS", "COMPLETED REQUIREMENTS"}:
            return
        yield entry


def _entries(history: str) -> Iterator[re.Match[str]]:
    """Yield the entries of the history without summaries, newest first."""
    for line in reversed(history.split("\n")):
        match = _ENTRY.match(line)
        if match is not None:
            yield match
