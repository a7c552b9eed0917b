"""Short texts of the planner's model about requirements."""

from __future__ import annotations

from code_commit.plugin_api import Finish, Message, PromptPart, Request, Run, Text
from code_commit_planner.agents.prompts import COMMIT_MESSAGE, REQUIREMENTS_SUMMARY
from code_commit_planner.dialog.messages import DESCRIBING, SUMMARIZING
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.text import fill
from code_commit_planner.plan_folder.requirements import without_tags


def summarize(run: Run, requirements: str) -> str:
    """Summarize the requirements for the history."""
    show(run, SUMMARIZING)
    summary = _ask(run, REQUIREMENTS_SUMMARY, requirements, label="requirements-summary")
    return summary or without_tags(requirements)


def describe(run: Run, requirements: str, changes: str) -> str:
    """Describe the changes for a commit: a summary line, then more."""
    show(run, DESCRIBING)
    return _ask(run, COMMIT_MESSAGE, requirements, changes, label="commit-message")


def _ask(run: Run, prompt: str, requirements: str, changes: str = "", *, label: str) -> str:
    question = fill(prompt, token=run.token, requirements=requirements, changes=changes)
    request = Request((Message("user", (Text(question),)),))
    parts = (
        PromptPart.of("the requirements", requirements),
        PromptPart.of("the changes", changes),
    )
    with run.baseline():
        completion = run.model("planner").complete(request, label=label, parts=parts)
    text = completion.text.strip()
    if completion.finish is not Finish.STOP:
        text = text.rpartition("\n")[0]  # the last line is incomplete
    return text
