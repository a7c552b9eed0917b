"""The steps in which requirements are implemented, until they count as completed."""

from __future__ import annotations

from code_commit.plugin_api import NotReady
from code_commit_planner import words
from code_commit_planner.answers import YES_OR_NO, ask
from code_commit_planner.coach_and_player import LoopEnd, Task, build
from code_commit_planner.feedback_kept import read_progress
from code_commit_planner.history import git_head, is_head_recorded, is_started, now, start_implementing
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder import CURRENT, HISTORY, TODO
from code_commit_planner.planner_model import summarise
from code_commit_planner.staging import shown_paths
from code_commit_planner.todo import Todos, read_todos


def implement(plan: Plan) -> Event:
    """Make the new requirements the current ones; when a run is resumed, these are taken as they are."""
    if plan.repository is not None:
        plan.repository.begin_work(again=plan.recovering)
    if not plan.recovering:
        plan.folder.start()
    _write_down_start(plan)
    return Event.DONE


def coach_and_player(plan: Plan) -> Event:
    """Let the coach and the player work; how they end is for the next step to judge."""
    _write_down_start(plan)  # as yet missing, where a recovery was skipped and the work is not complete after all
    since = None
    if plan.repository is not None:
        since = plan.repository.begin_work(again=True)
    plan.recovering = False
    task = Task(CURRENT, _requirements(plan), since or "HEAD")
    turns = plan.run.options.max_turns
    so_far = read_progress(plan.run.state, task.requirements)
    if so_far.turn and plan.loop is None:
        plan.say(words.LOOP_RESUMED, turn=str(so_far.turn))
    plan.say(words.IMPLEMENTING, turns=str(turns))
    plan.loop = build(plan.run, plan.toolbox, task, max_turns=turns, so_far=so_far)
    return Event.DONE


def judge_completion(plan: Plan) -> Event:
    """Ask whether the work is done, unless it is clear: all todos are ticked, and nothing stopped the loop."""
    todos = read_todos(plan.folder.text(TODO) or "")
    if todos.done and (plan.loop is None or plan.loop.end is LoopEnd.APPROVED):
        plan.say(words.TODOS_DONE, all=str(todos.all))
        return Event.YES
    question = plan.worded(words.NOT_COMPLETE, outcome=_outcome(plan), todos=_todos(plan, todos))
    return ask(plan.run, question, YES_OR_NO, empty=Event.NO)


def _write_down_start(plan: Plan) -> None:
    """Write down that the work begins, but for what is in the history: a run may have been cut off in between."""
    history = plan.folder.text(HISTORY) or ""
    if is_started(history):
        return
    if plan.repository is not None and not is_head_recorded(history, head := plan.repository.head()):
        plan.folder.record(git_head(now(), head))
    summary = summarise(plan.run, _requirements(plan))
    plan.folder.record(start_implementing(now(), summary))


def _outcome(plan: Plan) -> str:
    match plan.loop:
        case None:
            return words.SKIPPED
        case loop if loop.end is LoopEnd.APPROVED:
            return words.APPROVED
        case loop if loop.end is LoopEnd.OUT_OF_TURNS:
            return plan.worded(words.OUT_OF_TURNS, turns=str(loop.turns))
        case loop:
            return plan.worded(words.LOOP_FAILED, error=loop.error)


def _todos(plan: Plan, todos: Todos) -> str:
    if todos.done:
        return plan.worded(words.TODOS_DONE, all=str(todos.all))
    if not todos.all:
        return words.TODOS_NONE
    listed = shown_paths(todos.open)
    return f"{plan.worded(words.TODOS_OPEN, open=str(len(todos.open)), all=str(todos.all))}\n{listed}"


def _requirements(plan: Plan) -> str:
    text = plan.folder.text(CURRENT)
    if text is None:
        raise NotReady(f"there is no {CURRENT} any more", hint="start again")
    return text
