"""The steps from completed requirements to the commit."""

from __future__ import annotations

from code_commit.plugin_api import NotReady
from code_commit_planner.agents.planner import describe
from code_commit_planner.agents.progress import forget_progress
from code_commit_planner.complete.pending import (
    completion_of,
    message_of,
    read_message,
    save_message,
)
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.text import shown_paths
from code_commit_planner.git.commit_message import commit_message
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import FOLDER, HISTORY
from code_commit_planner.plan_folder.history import (
    completed,
    git_commit,
    is_recorded,
    now,
)
from code_commit_planner.plan_folder.requirements import to_implement


def rename(plan: Plan) -> Event:
    """Rename the completed files; without git, also record them in the history, which ends the
    work.
    """
    plan.completion = plan.folder.complete(
        now(), line=completed if plan.repository is None else None
    )
    forget_progress(plan.run.state)
    plan.loop = None
    plan.say(f"{messages.COMPLETED}\n{shown_paths(plan.completion.files)}")
    return Event.RECORDED if plan.repository is None else Event.DONE


def stage(plan: Plan) -> Event:
    """Stage the files of the work, and have the model write a commit message, unless an earlier run
    has one.
    """
    completion = completion_of(plan)
    plan.git.require_settled()
    chosen, foreign = plan.git.stage()
    for heading, paths in (
        (messages.NOT_STAGED, chosen.temporary),
        (messages.NOT_STAGED_EITHER, chosen.unclear),
        (messages.NOT_OURS, tuple(entry.path for entry in foreign)),
        (
            messages.OVERLOOKED,
            tuple(f"{path} ({flag})" for path, flag in plan.git.overlooked().items()),
        ),
    ):
        if paths:
            plan.say(f"{heading}\n{shown_paths(paths)}")
    plan.message = read_message(plan.run.state, completion.requirements)
    if plan.message is None:
        requirements = to_implement(plan.folder.text(f"{FOLDER}/{completion.requirements}") or "")
        plan.message = commit_message(describe(plan.run, requirements), completion)
        save_message(plan.run.state, completion.requirements, plan.message)
    return Event.DONE


def commit(plan: Plan) -> Event:
    """Add both lines to the history, stage it again, and commit, so that the commit contains its
    own line.
    """
    message, completion = message_of(plan), plan.completion
    plan.git.require_settled()
    if completion is not None and not is_recorded(plan.folder.text(HISTORY) or "", completion):
        plan.git.begin_commit(message, completion.requirements)
        plan.folder.record(completed(completion), git_commit(completion.when, message.summary))
    else:
        plan.folder.reword(message.summary)
        plan.git.reword_commit(message)
    plan.git.stage_plan()
    try:
        made = plan.git.commit(message)
    except NotReady as error:
        kept = plan.run.keep("commit-message.txt", str(message))
        plan.say(messages.COMMIT_FAILED, reason=error.message, file=str(kept))
        return Event.FAILED
    plan.commits.append(f"{made} {message.summary}")
    plan.say(messages.COMMITTED, commit=made[:12], summary=message.summary)
    plan.completion = plan.message = None
    return Event.DONE
