"""The steps from completed requirements to their commit."""

from __future__ import annotations

from code_commit.plugin_api import NotReady
from code_commit_planner import words
from code_commit_planner.answers import YES_OR_NO, ask
from code_commit_planner.commit_message import CommitMessage, commit_message
from code_commit_planner.feedback_kept import forget_progress
from code_commit_planner.history import Completed, completed, git_commit, is_recorded, now
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder import FOLDER, HISTORY
from code_commit_planner.planner_model import describe
from code_commit_planner.staging import shown_paths
from code_commit_planner.telling import tell

_CONTINUE = (Event.GO, Event.QUIT)


def rename(plan: Plan) -> Event:
    """Give the completed files their names; without git, that and its line in the history are all there is to do."""
    plan.completion = plan.folder.complete(now(), line=completed if plan.repository is None else None)
    forget_progress(plan.run.state)
    plan.loop = None
    plan.say(f"{words.COMPLETED}\n{shown_paths(plan.completion.files)}")
    return Event.RECORDED if plan.repository is None else Event.DONE


def stage(plan: Plan) -> Event:
    """Stage what belongs to the work, and have a message written for its commit."""
    completion = _completion(plan)
    plan.git.require_settled()
    chosen, foreign = plan.git.stage()
    for told, paths in (
        (words.NOT_STAGED, chosen.temporary),
        (words.NOT_STAGED_EITHER, chosen.unclear),
        (words.NOT_OURS, tuple(entry.path for entry in foreign)),
    ):
        if paths:
            plan.say(f"{told}\n{shown_paths(paths)}")
    requirements = plan.folder.text(f"{FOLDER}/{completion.requirements}") or ""
    plan.message = commit_message(describe(plan.run, requirements), completion)
    return Event.DONE


def review_staged(plan: Plan) -> Event:
    """Show what is about to be committed. Whoever quits here leaves everything as it is."""
    message = _message(plan)
    plan.say(words.READY)
    tell(plan.run, _indented(message))
    plan.say(f"{words.STAGED}\n{shown_paths(plan.git.staged_for_commit())}")
    return ask(plan.run, words.ASK_REVIEW, _CONTINUE, empty=Event.GO, also={Event.YES: Event.GO, Event.NO: Event.QUIT})


def commit(plan: Plan) -> Event:
    """Write both lines into the history, stage it once more, and commit: so the line is in its own commit."""
    message, completion = _message(plan), plan.completion
    plan.git.require_settled()
    if completion is not None and not is_recorded(plan.folder.text(HISTORY) or "", completion):
        plan.git.begin_commit(message, completion.requirements)
        plan.folder.record(completed(completion), git_commit(completion.when, message.summary))
    plan.git.stage_plan()
    try:
        made = plan.git.commit(message)
    except NotReady as error:
        kept = plan.run.keep("commit-message.txt", str(message))
        plan.say(words.COMMIT_FAILED, reason=error.message, file=str(kept))
        return Event.FAILED
    plan.commits.append(made)
    plan.say(words.COMMITTED, commit=made[:12], summary=message.summary)
    plan.completion = plan.message = None
    return Event.DONE


def offer_commit_again(plan: Plan) -> Event:
    """Ask whether a commit that was recorded and not made is to be made now."""
    event = ask(plan.run, words.ASK_COMMIT_AGAIN, YES_OR_NO)
    if event is Event.NO:
        plan.git.forget_commit()
        plan.completion = plan.message = None
    return event


def _completion(plan: Plan) -> Completed:
    assert plan.completion is not None, "nothing was completed"
    return plan.completion


def _message(plan: Plan) -> CommitMessage:
    assert plan.message is not None, "no message was written"
    return plan.message


def _indented(message: CommitMessage) -> str:
    return "\n".join(f"  {line}".rstrip() for line in str(message).rstrip("\n").split("\n"))
