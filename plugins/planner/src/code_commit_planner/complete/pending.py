"""The commit of a plan: what it completes, and its message, saved for an interrupted run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from code_commit_planner.git.commit_message import CommitMessage
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import FOLDER
from code_commit_planner.plan_folder.history import Completed, completed_at
from code_commit_planner.saved_state import load_json, save_json

_MESSAGE_FILE = "commit-message.json"


def message_of(plan: Plan) -> CommitMessage:
    """Return the message of the commit."""
    assert plan.message is not None, "no message was written"
    return plan.message


def completion_of(plan: Plan) -> Completed:
    """Return what the commit completes, in this run or in an earlier one that began the commit."""
    if plan.completion is not None:
        return plan.completion
    when = completed_at(plan.git.begun_requirements())
    assert when is not None, "nothing was completed"
    todo = plan.folder.read(f"{FOLDER}/{Completed(when).todo}")
    return Completed(when, with_todo=todo is not None)


def save_message(state: Path, requirements: str, message: CommitMessage) -> None:
    """Save the message of the commit with the completed file `requirements`."""
    save_json(state / _MESSAGE_FILE, {"requirements": requirements, **asdict(message)})


def read_message(state: Path, requirements: str) -> CommitMessage | None:
    """Return the message that an earlier run saved for that commit, or None."""

    def message_for(fields: Mapping[str, Any]) -> CommitMessage | None:
        if fields["requirements"] != requirements:
            return None
        return CommitMessage(str(fields["summary"]), tuple(map(str, fields["description"])))

    return load_json(state / _MESSAGE_FILE, message_for)
