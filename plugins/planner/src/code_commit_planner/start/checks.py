"""The first steps: the models, the branch, uncommitted changes."""

from __future__ import annotations

from code_commit.plugin_api import MessageLogged
from code_commit_planner.agents.running_command import read_running_command
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import YES_OR_NO, ask
from code_commit_planner.dialog.models import show_models
from code_commit_planner.dialog.text import shown_paths
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan


def startup(plan: Plan) -> Event:
    """Show the codebase and the models, including a fallback."""
    plan.say(messages.CODEPATH)
    # A missing key is reported now, not after the requirements are refined.
    models = {role: plan.run.model(role) for role in ("planner", "coach", "player")}
    if models["planner"].reason.startswith(("default_provider ", "model,")):
        planner = models["planner"]
        plan.say(messages.PLANNER_FALLBACK, model=planner.name, reason=planner.reason)
    show_models(plan.run, models)
    plan.say(messages.HOW_TO_TYPE)
    command = read_running_command(plan.run.state)
    if command is not None and command.agent == "planner":
        plan.say(messages.KILLED_PLANNER)
    if plan.repository is None:
        return Event.WITHOUT_GIT
    return Event.WITH_GIT


def check_branch(plan: Plan) -> Event:
    """Ask whether the branch is the right one.

    Raises:
        NotReady: a merge, cherry-pick, revert or rebase is in progress.
    """
    plan.git.require_settled()
    plan.say(messages.BRANCH, branch=plan.branch())
    return ask(plan.run, messages.ASK_BRANCH, YES_OR_NO)


def check_dirty(plan: Plan) -> Event:
    """Ask whether to proceed with uncommitted changes."""
    if (reason := plan.git.unknown_author()) is not None:
        warning = plan.fill(messages.UNKNOWN_AUTHOR, reason=reason)
        plan.run.emit(MessageLogged(warning, level="warning"))
    entries = plan.git.dirty()
    if not entries:
        return Event.CLEAN
    heading = plan.fill(messages.DIRTY, branch=plan.branch())
    plan.say(f"{heading}\n{shown_paths([str(entry) for entry in entries])}")
    return ask(plan.run, messages.ASK_DIRTY, YES_OR_NO)
