"""How far the coach and the player have come on some requirements, kept for a run that is cut off."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

_FILE = "coach-feedback.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """The turn that the coach judged last, and what it said."""

    requirements: str  # a digest
    turn: int
    feedback: str

    def save(self, state: Path) -> None:
        """Keep it in the folder `state`, in one step."""
        fresh = state / f"{_FILE}.new"
        fresh.write_text(json.dumps(asdict(self)), "utf-8")
        fresh.replace(state / _FILE)


def read_progress(state: Path, requirements: str) -> Progress:
    """Return how far an earlier run came on these very requirements: nowhere, when there was none."""
    key = digest(requirements)
    try:
        progress = Progress(**json.loads((state / _FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        progress = Progress("", 0, "")
    return progress if progress.requirements == key else Progress(key, 0, "")


def forget_progress(state: Path) -> None:
    """The work is done: the next one begins anew."""
    (state / _FILE).unlink(missing_ok=True)


def digest(text: str) -> str:
    """Return what tells requirements apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
