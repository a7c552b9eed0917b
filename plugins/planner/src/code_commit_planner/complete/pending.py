"""The commit message of a plan, which is saved for an interrupted run."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from code_commit_planner.git.commit_message import CommitMessage
from code_commit_planner.plan import Plan
from code_commit_planner.saved_state import save_json

_MESSAGE_FILE = "commit-message.json"


def message_of(plan: Plan) -> CommitMessage:
    """Return the message of the commit."""
    assert plan.message is not None, "no message was written"
    return plan.message


def save_message(state: Path, requirements: str, message: CommitMessage) -> None:
    """Save the message of the commit with the completed file `requirements`."""
    save_json(state / _MESSAGE_FILE, {"requirements": requirements, **asdict(message)})


def read_message(state: Path, requirements: str) -> CommitMessage | None:
    """Return the message that an earlier run saved for that commit, or None."""
    try:
        saved = json.loads((state / _MESSAGE_FILE).read_text("utf-8"))
        if saved["requirements"] != requirements:
            return None
        return CommitMessage(str(saved["summary"]), tuple(map(str, saved["description"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None
