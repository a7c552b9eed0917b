"""The steps before new requirements: checks of git, and leftovers of an earlier run."""

from __future__ import annotations

from code_commit.plugin_api import MessageLogged
from code_commit_planner import messages
from code_commit_planner.answers import YES_OR_NO, ask
from code_commit_planner.guard import Guard
from code_commit_planner.history import (
    attempting_recovery,
    completed,
    now,
    skipped_recovery,
    timestamp,
)
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder import CURRENT, FOLDER, TODO
from code_commit_planner.running_command import read_running_command
from code_commit_planner.staging import shown_paths


def startup(plan: Plan) -> Event:
    """Show the codebase and the models, including a fallback."""
    plan.say(messages.CODEPATH)
    model = plan.run.model("planner")
    for role in ("coach", "player"):
        plan.run.model(role)  # report a missing key now, not after the requirements are refined
    fell_back = model.reason.startswith(("default_provider ", "model,"))
    plan.say(
        messages.PLANNER_FALLBACK if fell_back else messages.PLANNER_MODEL,
        model=model.name,
        reason=model.reason,
    )
    plan.say(messages.HOW_TO_TYPE)
    command = read_running_command(plan.run.state)
    if command is not None and command.agent == "planner":
        plan.say(messages.KILLED_PLANNER)
    return Event.WITHOUT_GIT if plan.repository is None else Event.WITH_GIT


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
        plan.run.emit(
            MessageLogged(plan.fill(messages.UNKNOWN_AUTHOR, reason=reason), level="warning")
        )
    entries = plan.git.dirty()
    if not entries:
        return Event.CLEAN
    listed = shown_paths([str(entry) for entry in entries])
    plan.say(f"{plan.fill(messages.DIRTY, branch=plan.branch())}\n{listed}")
    return ask(plan.run, messages.ASK_DIRTY, YES_OR_NO)


def look_for_leftovers(plan: Plan) -> Event:
    """Create the plan folder if it is missing, and look for leftovers of an earlier run."""
    Guard(plan.run, head=plan.head).restore_after_kill()
    plan.folder.require_allowed()
    if plan.repository is not None:
        plan.repository.put_back()
    plan.folder.create()
    if plan.folder.read(CURRENT) is not None or plan.folder.read(TODO) is not None:
        return Event.UNFINISHED
    if (event := _unrecorded(plan)) is not None:
        return event
    if plan.repository is not None and (message := plan.repository.begun_commit()) is not None:
        plan.message = message
        plan.say(messages.COMMIT_INTERRUPTED, summary=message.summary)
        return Event.UNCOMMITTED
    return Event.NOTHING_LEFT


def offer_recovery(plan: Plan) -> Event:
    """Ask what to do with an incomplete implementation."""
    found = []
    if (has_requirements := plan.folder.read(CURRENT) is not None) is True:
        found.append(
            plan.fill(messages.FOUND_REQUIREMENTS, when=timestamp(plan.folder.changed_at(CURRENT)))
        )
    if (todo := plan.folder.text(TODO)) is not None:
        found.append(
            plan.fill(
                messages.FOUND_TODO, contents=f"\n{todo.rstrip()}" if todo.strip() else "(empty)"
            )
        )
    event = ask(plan.run, plan.fill(messages.RECOVERY, found="\n".join(found)), YES_OR_NO)
    if event is Event.YES and not has_requirements:
        plan.say(messages.NOTHING_TO_RESUME)
        return Event.NO_REQUIREMENTS
    return event


def attempt_recovery(plan: Plan) -> Event:
    """Continue with the current requirements."""
    plan.folder.record(attempting_recovery(now()))
    plan.recovering = True
    return Event.DONE


def skip_recovery(plan: Plan) -> Event:
    """Mark the implementation as complete; a todo list without requirements is not an
    implementation.
    """
    plan.folder.record(skipped_recovery(now()))
    return Event.NO_REQUIREMENTS if plan.folder.read(CURRENT) is None else Event.DONE


def _unrecorded(plan: Plan) -> Event | None:
    """Look for a completion that the history lacks; return None when there is none to continue
    with.
    """
    completion = plan.folder.unrecorded()
    if completion is None:
        return None
    if plan.repository is None:
        plan.folder.record(completed(completion))
        plan.say(f"{messages.COMPLETED}\n{shown_paths(completion.files)}")
        return Event.RECORDED
    if plan.repository.is_committed(f"{FOLDER}/{completion.requirements}"):
        return None  # committed without planning, or the history was lost
    plan.completion = completion
    plan.say(messages.UNRECORDED, file=completion.requirements)
    return Event.UNRECORDED
