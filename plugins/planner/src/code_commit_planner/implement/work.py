"""The steps that start the work, and let the coach and the player do it."""

from __future__ import annotations

from code_commit.plugin_api import NotReady, Verdict
from code_commit_planner.agents.coach_and_player import Task, build, say_resumed
from code_commit_planner.agents.planner import summarize
from code_commit_planner.agents.progress import read_progress
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.text import legible
from code_commit_planner.git.commit_message import trailer_lines
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import CURRENT
from code_commit_planner.plan_folder.history import (
    git_head,
    is_head_recorded,
    is_started,
    now,
    start_implementing,
)
from code_commit_planner.plan_folder.requirements import to_implement


def implement(plan: Plan) -> Event:
    """Make the new requirements the current ones; a resumed run keeps the current ones."""
    head = _begin_work(plan, again=plan.recovering)
    if not plan.recovering:
        plan.folder.start(*_head_line(plan, head))
        plan.work.begin()
    _record_start(plan, head)
    return Event.DONE


def coach_and_player(plan: Plan) -> Event:
    """Let the coach and the player work; the next step evaluates the result."""
    since = _begin_work(plan, again=True)
    # The history lacks it if a recovery was skipped and the work turned out to be incomplete.
    _record_start(plan, since)
    plan.recovering = False
    plan.work.resume()
    builds = plan.run.settings.acceptance
    task = Task(plan.work, requirements_of(plan), builds=builds, head=plan.head)
    turns = plan.run.options.max_turns
    so_far = read_progress(plan.run.state, task.requirements)
    if so_far.has_begun and plan.loop is None:
        say_resumed(plan.run, so_far)
    plan.say(messages.IMPLEMENTING, turns=str(turns))
    plan.loop = build(plan.run, plan.toolbox, task, max_turns=turns, so_far=so_far)
    plan.turns += plan.loop.turns
    plan.verdict = plan.loop.verdict
    if plan.verdict and plan.verdict.accepted:
        plan.say(_shown(plan.verdict))
    return Event.DONE


def _shown(verdict: Verdict) -> str:
    """Return the notes and facts of the acceptance checks for the person."""
    lines = [*verdict.notes, *trailer_lines(verdict.trailers)]
    return "\n".join([messages.ACCEPTED, *(f"  {legible(line)}" for line in lines)])


def _begin_work(plan: Plan, *, again: bool) -> str | None:
    """Return the commit at which the work begins; None before the first commit, or without git."""
    if plan.repository is None:
        return None
    return plan.repository.begin_work(again=again)


def _record_start(plan: Plan, head: str | None) -> None:
    """Record the start of the work at `head`, except what the history already has."""
    history = plan.folder.history()
    if is_started(history):
        return
    lines = _head_line(plan, head)
    if lines and not is_head_recorded(history, head):
        plan.folder.record(*lines)
    requirements = requirements_of(plan)
    summary = plan.retried(lambda: summarize(plan.run, requirements))
    plan.folder.record(start_implementing(now(), summary))


def _head_line(plan: Plan, head: str | None) -> list[str]:
    """Return the line for the commit at which the work begins; none without git."""
    if plan.repository is None:
        return []
    return [git_head(now(), head)]


def requirements_of(plan: Plan) -> str:
    """Return the current requirements as the agents get them."""
    text = plan.folder.text(CURRENT)
    if text is None:
        raise NotReady(f"there is no {CURRENT} any more", hint="start again")
    return to_implement(text)
