"""Leftovers of an earlier run: resume them, or mark them as complete."""

from __future__ import annotations

from code_commit_planner.agents.guard import Guard
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import YES_OR_NO, ask
from code_commit_planner.dialog.text import shown_paths
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import CURRENT, FOLDER, TODO
from code_commit_planner.plan_folder.history import (
    attempting_recovery,
    completed,
    now,
    skipped_recovery,
    timestamp,
)


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
    leftovers = []
    has_requirements = plan.folder.read(CURRENT) is not None
    if has_requirements:
        when = timestamp(plan.folder.changed_at(CURRENT))
        leftovers.append(plan.fill(messages.FOUND_REQUIREMENTS, when=when))
    todo = plan.folder.text(TODO)
    if todo is not None:
        contents = f"\n{todo.rstrip()}" if todo.strip() else "(empty)"
        leftovers.append(plan.fill(messages.FOUND_TODO, contents=contents))
    question = plan.fill(messages.RECOVERY, found="\n".join(leftovers))
    event = ask(plan.run, question, YES_OR_NO)
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
    """Mark the implementation as complete, unless there is only a todo list."""
    plan.folder.record(skipped_recovery(now()))
    if plan.folder.read(CURRENT) is None:
        return Event.NO_REQUIREMENTS
    return Event.DONE


def _unrecorded(plan: Plan) -> Event | None:
    """Look for a completion that the history lacks; return None if there is none to continue."""
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
