"""What the plan folder held when a command of an agent began, saved for a run that is killed in that command."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_FILE = "running-command.json"


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """A command of `agent`, which may write `writes`; `kept` are the files of the plan folder, with their content.

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
        fresh = state / f"{_FILE}.new"
        fresh.write_text(json.dumps(fields), "utf-8")
        fresh.replace(state / _FILE)


def read_running_command(state: Path) -> RunningCommand | None:
    """Return the command in which the last run was killed, or None."""
    try:
        found = json.loads((state / _FILE).read_text("utf-8"))
        kept = {path: b64decode(content) for path, content in found["kept"].items()}
        return RunningCommand(str(found["agent"]), str(found["head"]), tuple(found["writes"]), kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def forget_running_command(state: Path) -> None:
    """Forget it: it has ended, and what it changed is restored."""
    (state / _FILE).unlink(missing_ok=True)
