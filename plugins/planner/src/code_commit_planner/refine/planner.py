"""The planner's review of new requirements."""

from __future__ import annotations

from collections.abc import Callable

from code_commit.plugin_api import Run
from code_commit_planner.agents.guard import Guard
from code_commit_planner.agents.prompts import (
    PLANNER_ASKED,
    PLANNER_REVIEW,
    PLANNER_SYSTEM,
)
from code_commit_planner.agents.watching import work
from code_commit_planner.dialog.text import fill, legible
from code_commit_planner.plan_folder.folder import NEW, PlanFolder
from code_commit_toolbox.outcome import AgentResult
from code_commit_toolbox.toolbox import Toolbox

PLANNER_TOOLS = ("read_file", "write_file", "shell", "code_search", "str_replace", "final_output")


def review(
    run: Run,
    toolbox: Toolbox,
    instructions: str,
    head: Callable[[], str],
) -> AgentResult:
    """Let the planner review the new requirements.

    `instructions` are the person's, or empty. `head` returns the id of the last commit.
    """
    codepath = legible(str(run.root))
    prompt = fill(PLANNER_REVIEW, codepath=codepath)
    if instructions:
        prompt += fill(PLANNER_ASKED, words=instructions)
    system = fill(PLANNER_SYSTEM, codepath=codepath)
    return work(
        run,
        Guard(run, head=head).tools_of_planner(toolbox),
        "planner",
        allow=PLANNER_TOOLS,
        system=system,
        prompt=prompt,
        seen={NEW: PlanFolder(run).text(NEW)},
    )
