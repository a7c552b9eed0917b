"""The progress on some requirements, saved for an interrupted run: of coach and player, and of the commit message."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from code_commit_planner.commit_message import CommitMessage

_FILE = "coach-feedback.json"
_MESSAGE_FILE = "commit-message.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """The last turn that the coach reviewed, its feedback, and what the person asked for after a review."""

    requirements: str  # a digest
    turn: int
    feedback: str
    asked: str = ""  # by the person, at the review

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        fresh = state / f"{_FILE}.new"
        fresh.write_text(json.dumps(asdict(self)), "utf-8")
        fresh.replace(state / _FILE)


def read_progress(state: Path, requirements: str) -> Progress:
    """Return the progress of an earlier run on exactly these requirements, or an empty one."""
    key = digest(requirements)
    try:
        progress = Progress(**json.loads((state / _FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        progress = Progress("", 0, "")
    return progress if progress.requirements == key else Progress(key, 0, "")


def forget_progress(state: Path) -> None:
    """Forget the progress: the work is done."""
    (state / _FILE).unlink(missing_ok=True)


def save_message(state: Path, requirements: str, message: CommitMessage) -> None:
    """Save the message of the commit with the completed file `requirements`."""
    fresh = state / f"{_MESSAGE_FILE}.new"
    fresh.write_text(json.dumps({"requirements": requirements, **asdict(message)}), "utf-8")
    fresh.replace(state / _MESSAGE_FILE)


def read_message(state: Path, requirements: str) -> CommitMessage | None:
    """Return the message that an earlier run saved for that commit, or None."""
    try:
        saved = json.loads((state / _MESSAGE_FILE).read_text("utf-8"))
        if saved["requirements"] != requirements:
            return None
        return CommitMessage(str(saved["summary"]), tuple(map(str, saved["description"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def digest(text: str) -> str:
    """Return a digest that identifies the requirements."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
