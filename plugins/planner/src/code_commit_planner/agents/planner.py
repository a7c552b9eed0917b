"""Short texts of the planner's model about requirements."""

from __future__ import annotations

from code_commit.plugin_api import Finish, Message, PromptPart, Request, Run, Text
from code_commit_planner.agents.prompts import (
    COMMIT_MESSAGE,
    REQUIREMENTS_SUMMARY,
)
from code_commit_planner.dialog.messages import DESCRIBING, SUMMARISING
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.text import fill
from code_commit_planner.plan_folder.requirements import without_tags


def summarise(run: Run, requirements: str) -> str:
    """Summarize the requirements for the history."""
    show(run, SUMMARISING)
    return _asked(run, REQUIREMENTS_SUMMARY, requirements, "requirements-summary") or without_tags(
        requirements
    )


def describe(run: Run, requirements: str) -> str:
    """Describe the implementation for a commit: a summary line, then more."""
    show(run, DESCRIBING)
    return _asked(run, COMMIT_MESSAGE, requirements, "commit-message")


def _asked(run: Run, prompt: str, requirements: str, label: str) -> str:
    question = fill(prompt, token=run.token, requirements=requirements)
    request = Request((Message("user", (Text(question),)),))
    parts = (PromptPart.of("the requirements", requirements),)
    completion = run.model("planner").complete(request, label=label, parts=parts)
    text = completion.text.strip()
    # The last line is incomplete.
    return text if completion.finish is Finish.STOP else text.rpartition("\n")[0]
