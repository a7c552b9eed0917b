"""Save the files of the plan folder while a command of an agent runs, in case the run is killed."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_commit_planner.saved_state import load_json, save_json

_FILE = "running-command.json"


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """A command of `agent`, which may write `writes`.

    `head` is git's branch and commit. `originals` are the files of the plan folder before the
    command, with their content.
    """

    agent: str
    head: str
    writes: tuple[str, ...]
    originals: Mapping[str, bytes]

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        encoded = {path: b64encode(content).decode() for path, content in self.originals.items()}
        fields = {
            "agent": self.agent,
            "head": self.head,
            "writes": self.writes,
            "kept": encoded,
        }
        save_json(state / _FILE, fields)


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
        writes=tuple(fields["writes"]),
        originals={path: b64decode(content) for path, content in fields["kept"].items()},
    )
