"""The step that judges whether the work is done."""

from __future__ import annotations

from code_commit.plugin_api import CodeCommitError
from code_commit_planner.agents.changes import show_diff
from code_commit_planner.agents.coach_and_player import LoopEnd
from code_commit_planner.agents.display import feedback_lines
from code_commit_planner.agents.progress import add_words
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.answers import YES_OR_NO, ask_for_words
from code_commit_planner.dialog.retry import described_error
from code_commit_planner.dialog.text import shown_paths
from code_commit_planner.implement.work import requirements_of
from code_commit_planner.machine import Event
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import TODO
from code_commit_planner.plan_folder.todo import Todos, read_todos


def judge_completion(plan: Plan) -> Event:
    """Ask whether the work is done, unless all todos are ticked and nothing stopped the loop.

    Text of the person goes to the coach and the player, who continue.
    """
    todos = read_todos(plan.folder.text(TODO) or "")
    if todos.done and (plan.loop is None or plan.loop.end is LoopEnd.APPROVED):
        plan.say(messages.TODOS_DONE, all=str(todos.all))
        return Event.YES
    if plan.loop is not None and plan.loop.raised is not None:
        event = _offer_to_try_again(plan, plan.loop.raised)
        if event is not None:
            return event
    lines = [*_feedback(plan), *_outcome(plan), _todos(plan, todos), messages.ASK_COMPLETE]
    return _answer(plan, "\n".join(lines)) or Event.NO


def _offer_to_try_again(plan: Plan, error: CodeCommitError) -> Event | None:
    """Ask whether the loop goes on after an error of the service; return None if it does not."""
    question = plan.fill(messages.TRY_AGAIN_OR_WORDS, error=described_error(error))
    match _answer(plan, "\n".join([*_feedback(plan), question])):
        case Event.YES | None:
            return Event.NO
        case Event.NO:
            return None
        case event:
            return event


def _answer(plan: Plan, question: str) -> Event | None:
    """Ask a question of the loop; return None if the person wrote words, which go to the agents.

    Enter is no answer, and a single word is a wrong key: either would pay for a turn.
    """
    answer = ask_for_words(
        plan.run,
        question,
        ("yes", "no", "diff", "quit"),
        {event: event for event in YES_OR_NO},
        shows={"diff": lambda: show_diff(plan.run, plan.work.changes())},
        least=2,
    )
    if isinstance(answer, Event):
        return answer
    add_words(plan.run.state, requirements_of(plan), answer)
    return None


def _feedback(plan: Plan) -> list[str]:
    """Return the coach's last feedback, which stands above the question."""
    if plan.loop is None or not plan.loop.feedback:
        return []
    lines = feedback_lines(plan.loop.feedback, "the coach's transcript")
    return [messages.LAST_FEEDBACK, lines]


def _outcome(plan: Plan) -> list[str]:
    """Return how the loop ended; nothing after an approval, which the person has just seen."""
    if plan.loop is None:
        return [messages.SKIPPED]
    match plan.loop.end:
        case LoopEnd.APPROVED:
            return []
        case LoopEnd.OUT_OF_TURNS:
            return [plan.fill(messages.OUT_OF_TURNS, turns=str(plan.loop.turns))]
        case LoopEnd.FAILED if plan.loop.raised is not None:
            return []  # it stands in the question before
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
