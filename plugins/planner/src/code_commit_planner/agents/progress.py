"""Save the progress of coach and player on some requirements, for an interrupted run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from code_commit_planner.saved_state import save_json

_FILE = "coach-feedback.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """The last turn that the coach reviewed, its feedback, and what the person asked for after a
    review.
    """

    requirements: str  # a digest
    turn: int
    feedback: str
    asked: str = ""  # by the person, at the review

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        save_json(state / _FILE, asdict(self))


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


def digest(text: str) -> str:
    """Return a digest that identifies the requirements."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
