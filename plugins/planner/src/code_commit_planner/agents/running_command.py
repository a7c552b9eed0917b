"""Save the files of the plan folder when an agent's command begins, in case the run is killed
during the command.
"""

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
    """A command of `agent`, which may write `writes`; `kept` are the files of the plan folder, with
    their content.

    `head` is git's branch and commit.
    """

    agent: str
    head: str
    writes: tuple[str, ...]
    kept: Mapping[str, bytes]

    def save(self, state: Path) -> None:
        """Save it in the folder `state` atomically."""
        kept = {path: b64encode(content).decode() for path, content in self.kept.items()}
        fields = {"agent": self.agent, "head": self.head, "writes": self.writes, "kept": kept}
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
        kept={path: b64decode(content) for path, content in fields["kept"].items()},
    )
