"""Remember the command of an agent that is running, in case the run is killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from code_commit_planner.saved_state import load_json, save_json

_FILE = "running-command.json"


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """A command of `agent`, which may write `writes`. It began at the moment `begun`.

    `head` is git's branch and commit.
    """

    agent: str
    head: str
    writes: tuple[str, ...]
    begun: str

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        save_json(state / _FILE, asdict(self))


def read_running_command(state: Path) -> RunningCommand | None:
    """Return the command during which the last run was killed, or None."""
    return load_json(state / _FILE, _decode)


def forget_running_command(state: Path) -> None:
    """Forget the command: it has ended, and its changes are restored."""
    (state / _FILE).unlink(missing_ok=True)


def _decode(fields: Mapping[str, Any]) -> RunningCommand:
    return RunningCommand(
        agent=str(fields["agent"]),
        head=str(fields["head"]),
        writes=tuple(map(str, fields["writes"])),
        begun=str(fields["begun"]),
    )
