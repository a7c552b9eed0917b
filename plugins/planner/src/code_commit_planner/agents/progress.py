"""Save the progress of coach and player on some requirements, for an interrupted run."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from code_commit_planner.saved_state import load_json, save_json

_FILE = "coach-feedback.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """The last turn that the coach reviewed, and its feedback.

    `requirements` is a digest. `asked` is what the person asked for. `report` is that of the player
    in the next turn, if the coach has not reviewed it yet.
    """

    requirements: str
    turn: int = 0
    feedback: str = ""
    asked: str = ""
    report: str = ""

    @property
    def has_begun(self) -> bool:
        """Return whether the coach or the player has worked."""
        return bool(self.turn or self.report)

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        save_json(state / _FILE, asdict(self))


def read_progress(state: Path, requirements: str) -> Progress:
    """Return the progress of an earlier run on exactly these requirements, or an empty one."""
    current = digest(requirements)
    progress = load_json(state / _FILE, lambda fields: Progress(**fields))
    if progress is None or progress.requirements != current:
        return Progress(current)
    return progress


def add_words(state: Path, requirements: str, words: str) -> None:
    """Save what the person asks for, in addition to what they asked for before."""
    progress = read_progress(state, requirements)
    asked = f"{progress.asked}\n\n{words}".lstrip("\n")
    replace(progress, asked=asked).save(state)


def forget_progress(state: Path) -> None:
    """Forget the progress: the work is done."""
    (state / _FILE).unlink(missing_ok=True)


def digest(text: str) -> str:
    """Return a digest that identifies the requirements."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
