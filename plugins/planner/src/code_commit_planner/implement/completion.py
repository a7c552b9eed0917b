"""The step that judges whether the work is done."""

from __future__ import annotations

from code_commit_planner.agents.coach_and_player import LoopEnd
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import YES_OR_NO, ask
from code_commit_planner.dialog.text import shown_paths
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import TODO
from code_commit_planner.plan_folder.todo import Todos, read_todos


def judge_completion(plan: Plan) -> Event:
    """Ask whether the work is done, unless all todos are ticked and nothing stopped the loop."""
    todos = read_todos(plan.folder.text(TODO) or "")
    if todos.done and (plan.loop is None or plan.loop.end is LoopEnd.APPROVED):
        plan.say(messages.TODOS_DONE, all=str(todos.all))
        return Event.YES
    lines = [*_outcome(plan), _todos(plan, todos), messages.ASK_COMPLETE]
    return ask(plan.run, "\n".join(lines), YES_OR_NO, empty=Event.NO)


def _outcome(plan: Plan) -> list[str]:
    """Return how the loop ended; nothing after an approval, which the person has just seen."""
    if plan.loop is None:
        return [messages.SKIPPED]
    match plan.loop.end:
        case LoopEnd.APPROVED:
            return []
        case LoopEnd.OUT_OF_TURNS:
            return [plan.fill(messages.OUT_OF_TURNS, turns=str(plan.loop.turns))]
        case LoopEnd.FAILED:
            return [plan.fill(messages.LOOP_FAILED, error=plan.loop.error)]


def _todos(plan: Plan, todos: Todos) -> str:
    if todos.done:
        return plan.fill(messages.TODOS_DONE, all=str(todos.all))
    if not todos.all:
        return messages.TODOS_NONE
    open_todos = str(len(todos.open))
    heading = plan.fill(messages.TODOS_OPEN, open=open_todos, all=str(todos.all))
    return f"{heading}\n{shown_paths(todos.open)}"
