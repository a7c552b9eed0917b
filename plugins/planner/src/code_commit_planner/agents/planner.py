"""Calls of the planner's model: a review of requirements, and two short texts about them."""

from __future__ import annotations

from collections.abc import Callable

from code_commit.plugin_api import Finish, Message, PromptPart, Request, Run, Text
from code_commit_planner.agents.guard import Guard
from code_commit_planner.agents.watching import work
from code_commit_planner.dialog.messages import DESCRIBING, SUMMARISING
from code_commit_planner.dialog.notices import show
from code_commit_planner.plan_folder.requirements import without_tags
from code_commit_planner.prompts import (
    COMMIT_MESSAGE,
    PLANNER_ASKED,
    PLANNER_REVIEW,
    PLANNER_SYSTEM,
    REQUIREMENTS_SUMMARY,
    filled,
)
from code_commit_planner.text import legible
from code_commit_toolbox.outcome import AgentResult
from code_commit_toolbox.toolbox import Toolbox

PLANNER_TOOLS = ("read_file", "write_file", "shell", "code_search", "str_replace", "final_output")


def review(run: Run, toolbox: Toolbox, words: str, head: Callable[[], str]) -> AgentResult:
    """Let the planner review the new requirements.

    `words` are the person's instructions, `head` is as in `Guard`.
    """
    codepath = legible(str(run.root))
    prompt = filled(PLANNER_REVIEW, codepath=codepath)
    if words:
        prompt += filled(PLANNER_ASKED, words=words)
    system = filled(PLANNER_SYSTEM, codepath=codepath)
    tools = Guard(run, head=head).tools_of_planner(toolbox)
    return work(run, tools, "planner", allow=PLANNER_TOOLS, system=system, prompt=prompt)


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
    question = filled(prompt, token=run.token, requirements=requirements)
    request = Request((Message("user", (Text(question),)),))
    parts = (PromptPart.of("the requirements", requirements),)
    completion = run.model("planner").complete(request, label=label, parts=parts)
    text = completion.text.strip()
    # The last line is incomplete.
    return text if completion.finish is Finish.STOP else text.rpartition("\n")[0]
