"""The steps before there are new requirements: git's checks, and what an earlier run has left."""

from __future__ import annotations

from code_commit.plugin_api import MessageLogged
from code_commit_planner import words
from code_commit_planner.answers import YES_OR_NO, ask
from code_commit_planner.history import attempting_recovery, completed, now, skipped_recovery, timestamp
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder import CURRENT, FOLDER, TODO
from code_commit_planner.staging import shown_paths


def startup(plan: Plan) -> Event:
    """Say where the work is done, and by which model; a fallback is told."""
    plan.say(words.CODEPATH)
    model = plan.run.model("planner")
    for role in ("coach", "player"):
        plan.run.model(role)  # a key that is missing is told now, not after the requirements are refined
    fell_back = model.reason.startswith(("default_provider ", "model,"))
    plan.say(words.PLANNER_FALLBACK if fell_back else words.PLANNER_MODEL, model=model.name, reason=model.reason)
    return Event.WITHOUT_GIT if plan.repository is None else Event.WITH_GIT


def check_branch(plan: Plan) -> Event:
    """Ask whether the branch is the right one.

    Raises:
        NotReady: a merge or the like is under way.
    """
    plan.git.require_settled()
    plan.say(words.BRANCH, branch=_branch(plan))
    return ask(plan.run, words.ASK_BRANCH, YES_OR_NO)


def check_dirty(plan: Plan) -> Event:
    """Ask whether to proceed where something is not committed."""
    if (reason := plan.git.unknown_author()) is not None:
        plan.run.emit(MessageLogged(plan.worded(words.UNKNOWN_AUTHOR, reason=reason), level="warning"))
    entries = plan.git.dirty()
    if not entries:
        return Event.CLEAN
    listed = shown_paths([str(entry) for entry in entries])
    plan.say(f"{plan.worded(words.DIRTY, branch=_branch(plan))}\n{listed}")
    return ask(plan.run, words.ASK_DIRTY, YES_OR_NO)


def look_for_leftovers(plan: Plan) -> Event:
    """Make the plan folder where there is none, and see what an earlier run has left in it."""
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
        plan.say(words.COMMIT_CUT_OFF, summary=message.summary)
        return Event.UNCOMMITTED
    return Event.NOTHING_LEFT


def offer_recovery(plan: Plan) -> Event:
    """Ask what becomes of an implementation that was not completed."""
    found = []
    if (has_requirements := plan.folder.read(CURRENT) is not None) is True:
        found.append(plan.worded(words.FOUND_REQUIREMENTS, when=timestamp(plan.folder.changed_at(CURRENT))))
    if (todo := plan.folder.text(TODO)) is not None:
        found.append(plan.worded(words.FOUND_TODO, contents=f"\n{todo.rstrip()}" if todo.strip() else "(empty)"))
    event = ask(plan.run, plan.worded(words.RECOVERY, found="\n".join(found)), YES_OR_NO)
    if event is Event.YES and not has_requirements:
        plan.say(words.NOTHING_TO_RESUME)
        return Event.NO_REQUIREMENTS
    return event


def attempt_recovery(plan: Plan) -> Event:
    """Go on with the current requirements as they are."""
    plan.folder.record(attempting_recovery(now()))
    plan.recovering = True
    return Event.DONE


def skip_recovery(plan: Plan) -> Event:
    """Count the implementation as complete; a todo list alone is none."""
    plan.folder.record(skipped_recovery(now()))
    return Event.NO_REQUIREMENTS if plan.folder.read(CURRENT) is None else Event.DONE


def _unrecorded(plan: Plan) -> Event | None:
    """Look for a completion that the history does not know; None when there is none to go on with."""
    completion = plan.folder.unrecorded()
    if completion is None:
        return None
    if plan.repository is None:
        plan.folder.record(completed(completion))
        plan.say(f"{words.COMPLETED}\n{shown_paths(completion.files)}")
        return Event.RECORDED
    if plan.repository.is_committed(f"{FOLDER}/{completion.requirements}"):
        return None  # somebody has committed it without us, or the history was lost
    plan.completion = completion
    plan.say(words.UNRECORDED, file=completion.requirements)
    return Event.UNRECORDED


def _branch(plan: Plan) -> str:
    commit = plan.git.head() or ""
    return plan.git.branch() or plan.worded(words.DETACHED, commit=commit[:12])
