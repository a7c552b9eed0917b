"""The lines of `planner_history.txt`, and what can be read back from them. Times are local, without a zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from code_commit_planner.wrapping import plain_lines, wrap

SUMMARY_LINES = 5
SUMMARY_WIDTH = 120
_INDENT = "  "
_NO_COMMIT = "no commit yet"
_IN_LINE = "%Y-%m-%d %H:%M:%S"
_IN_NAME = "%Y-%m-%d_%H-%M-%S"
_ENTRY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:- )?([A-Z]+ [A-Z]+)\b(.*)")
_REQUIREMENTS = re.compile(r"completed_requirements_(\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d)\.md")


def now() -> datetime:
    """Read the clock: local time, whole seconds."""
    return datetime.now().astimezone().replace(microsecond=0, tzinfo=None)


@dataclass(frozen=True, slots=True)
class Completed:
    """What a completion leaves behind, named by one reading of the clock."""

    when: datetime
    with_todo: bool = True

    @property
    def requirements(self) -> str:
        """The name of the file of requirements."""
        return f"completed_requirements_{self.when.strftime(_IN_NAME)}.md"

    @property
    def todo(self) -> str:
        """The name of the file of todos, whether there is one or not."""
        return f"completed_todo_{self.when.strftime(_IN_NAME)}.md"

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that there are."""
        return (self.requirements, self.todo) if self.with_todo else (self.requirements,)


def completed_at(name: str) -> datetime | None:
    """Return when the requirements in the file `name` were completed; None for any other file."""
    found = _REQUIREMENTS.fullmatch(name)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], _IN_NAME)  # noqa: DTZ007 - local time, as in the name
    except ValueError:
        return None


def timestamp(when: datetime) -> str:
    """Return `when` as it stands in the history."""
    return when.strftime(_IN_LINE)


def refining(when: datetime) -> str:
    """The step of refining begins."""
    return f"{timestamp(when)} - REFINING REQUIREMENTS (new_requirements.md)\n"


def git_head(when: datetime, commit: str | None) -> str:
    """Where git stood before the implementation; None: there was no commit yet."""
    return f"{timestamp(when)} - GIT HEAD ({commit or _NO_COMMIT})\n"


def start_implementing(when: datetime, summary: str) -> str:
    """The implementation begins, with a short summary of the requirements."""
    lines = "".join(f"{_INDENT}{line}\n" for line in summary_lines(summary))
    return f"{timestamp(when)} - START IMPLEMENTING (current_requirements.md)\n<<\n{lines}>>\n"


def attempting_recovery(when: datetime) -> str:
    """A run that was cut off is resumed."""
    return f"{timestamp(when)} ATTEMPTING RECOVERY\n"


def skipped_recovery(when: datetime) -> str:
    """A run that was cut off is marked as complete."""
    return f"{timestamp(when)} USER SKIPPED RECOVERY\n"


def completed(completion: Completed) -> str:
    """The requirements are completed."""
    return f"{timestamp(completion.when)} - COMPLETED REQUIREMENTS ({', '.join(completion.files)})\n"


def git_commit(when: datetime, summary: str) -> str:
    """A commit is about to be made. Its id cannot be known: this line is in it."""
    return f"{timestamp(when)} - GIT COMMIT ({summary})\n"


def summary_lines(text: str) -> list[str]:
    """Return a model's summary as the history takes it: at most 5 lines of at most 120 characters, indent included."""
    width = SUMMARY_WIDTH - len(_INDENT)
    lines = [wrapped for line in plain_lines(text) for wrapped in wrap(line, width)]
    return lines[:SUMMARY_LINES]


def is_recorded(history: str, completion: Completed) -> bool:
    """Whether the completion stands in the history."""
    return any(
        found[1] == "COMPLETED REQUIREMENTS" and found[2].startswith(f" ({completion.requirements}")
        for found in _entries(history)
    )


def is_started(history: str) -> bool:
    """Whether the implementation that was refined last has begun in the history."""
    return any(found[1] == "START IMPLEMENTING" for found in _since_refined(history))


def is_head_recorded(history: str, commit: str | None) -> bool:
    """Whether the implementation that was refined last has `commit` for its starting point in the history."""
    heads = [found[2] for found in _since_refined(history) if found[1] == "GIT HEAD"]
    return bool(heads) and heads[0] == f" ({commit or _NO_COMMIT})"


def _since_refined(history: str) -> Iterator[re.Match[str]]:
    """Give the entries of the implementation that was refined last, the latest first."""
    for found in _entries(history):
        if found[1] in {"REFINING REQUIREMENTS", "COMPLETED REQUIREMENTS"}:
            return
        yield found


def _entries(history: str) -> Iterator[re.Match[str]]:
    """Give what stands in the history but for summaries, the latest first."""
    return (found for line in reversed(history.split("\n")) if (found := _ENTRY.match(line)))
