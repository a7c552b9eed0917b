"""The steps from completed requirements to the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from code_commit.plugin_api import NotReady
from code_commit_planner.agents.changes import changes_text
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
from code_commit_planner.plan_folder.folder import FOLDER
from code_commit_planner.plan_folder.history import completed, git_commit, now
from code_commit_planner.plan_folder.requirements import to_implement

_DIFF_LIMIT = 30_000  # characters for the commit message


def rename(plan: Plan) -> Event:
    """Rename the completed files; without git, record them in the history, which ends the work."""
    without_git = plan.repository is None
    plan.completion = plan.folder.complete(now(), line=completed if without_git else None)
    forget_progress(plan.run.state)
    plan.loop = None
    if without_git:
        plan.end_work()
    plan.say(f"{messages.COMPLETED}\n{shown_paths(plan.completion.files)}")
    return Event.RECORDED if without_git else Event.DONE


def stage(plan: Plan) -> Event:
    """Stage the files of the work, and have the model write a commit message.

    If an earlier run wrote one, that one is used.
    """
    completion = completion_of(plan)
    plan.git.require_settled()
    work = plan.work.changes()
    selection, foreign = plan.git.stage(work.left)
    overlooked = plan.git.overlooked()
    _list(plan, messages.NOT_STAGED, selection.temporary)
    _list(plan, messages.NOT_STAGED_EITHER, selection.unclear)
    _list(plan, messages.NOT_OURS, [entry.path for entry in foreign])
    _list(plan, messages.OVERLOOKED, [f"{path} ({flag})" for path, flag in overlooked.items()])
    plan.message = read_message(plan.run.state, completion.requirements)
    if plan.message is None:
        requirements = to_implement(plan.folder.text(f"{FOLDER}/{completion.requirements}") or "")
        changes = changes_text(work, min(plan.run.settings.diff_limit, _DIFF_LIMIT))
        text = plan.retried(lambda: describe(plan.run, requirements, changes))
        trailers = _trailers(plan)
        plan.message = commit_message(text, completion, trailers)
        save_message(plan.run.state, completion.requirements, plan.message)
    return Event.DONE


def commit(plan: Plan) -> Event:
    """Add both lines to the history, stage it again, and commit.

    So the commit contains its own line.
    """
    message = message_of(plan)
    completion = plan.completion
    plan.git.require_settled()
    if completion is not None and not plan.folder.is_recorded(completion):
        plan.git.begin_commit(message, completion.requirements)
        plan.folder.record(completed(completion), git_commit(completion.when, message.summary))
    else:
        plan.folder.reword(message.summary)
        plan.git.reword_commit(message)
    plan.git.stage_plan()
    try:
        commit_id = plan.git.commit(message)
    except NotReady as error:
        file = plan.run.keep("commit-message.txt", str(message))
        plan.say(messages.COMMIT_FAILED, reason=error.message, file=str(file))
        return Event.FAILED
    plan.commits.append(f"{commit_id} {message.summary}")
    plan.end_work()
    plan.say(messages.COMMITTED, commit=commit_id[:12], summary=message.summary)
    plan.completion = None
    plan.message = None
    plan.verdict = None
    return Event.DONE


def _trailers(plan: Plan) -> Mapping[str, str]:
    """Return the facts of the acceptance checks on the work, for the message."""
    if plan.verdict is None:
        return {}
    return {name: plan.run.redacted(text) for name, text in plan.verdict.trailers.items()}


def _list(plan: Plan, heading: str, paths: Sequence[str]) -> None:
    if paths:
        plan.say(f"{heading}\n{shown_paths(paths)}")
