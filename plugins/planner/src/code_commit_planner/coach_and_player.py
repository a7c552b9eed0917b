"""The loop in which a player implements requirements and a coach reviews them, until the coach approves."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from code_commit.plugin_api import CodeCommitError, ProviderFailed, ResponseRefused, Run
from code_commit_planner.changes import changes_since
from code_commit_planner.display import feedback_lines, tool_line
from code_commit_planner.messages import COACH, FEEDBACK, IS_APPROVED, TURN
from code_commit_planner.notices import show
from code_commit_planner.progress import Progress, digest, forget_progress
from code_commit_planner.prompts import (
    APPROVED,
    COACH_SYSTEM,
    COACH_TURN,
    PLAYER_FEEDBACK,
    PLAYER_SYSTEM,
    PLAYER_TURN,
    filled,
)
from code_commit_planner.wrapping import legible
from code_commit_toolbox.agent import run_agent
from code_commit_toolbox.outcome import AgentResult, CalledTool
from code_commit_toolbox.toolbox import Toolbox

PLAYER_TOOLS = (
    *("read_file", "list_files", "code_search", "write_file", "str_replace", "shell"),
    *("todo_read", "todo_write", "final_output"),
)
COACH_TOOLS = ("read_file", "list_files", "code_search", "shell", "todo_read", "final_output")


class LoopEnd(Enum):
    """How the loop ended."""

    APPROVED = "approved"
    OUT_OF_TURNS = "out of turns"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of the loop: `error` is what stopped it, `raised` its exception; `feedback` is the coach's
    last.
    """

    end: LoopEnd
    turns: int
    feedback: str = ""
    error: str = ""
    raised: CodeCommitError | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The requirements, their file, and the commit at which the work began."""

    file: str
    requirements: str
    since: str = "HEAD"


def build(run: Run, toolbox: Toolbox, task: Task, *, max_turns: int, so_far: Progress) -> LoopResult:
    """Let the player and the coach take turns; `so_far` is the progress of an earlier run.

    Raises:
        LimitReached, NotReady: from the host; they end the run, and the next run can continue.
    """
    feedback = so_far.feedback
    for turn in range(1, max_turns + 1):
        with run.span("planner.turn", number=turn):
            try:
                result = _turn(run, toolbox, task, turn, max_turns, feedback)
            except (ProviderFailed, ResponseRefused) as error:
                return LoopResult(LoopEnd.FAILED, turn, feedback, error.message, error)
        if result.end is LoopEnd.APPROVED:
            forget_progress(run.state)
            show(run, IS_APPROVED)
            return result
        if result.end is LoopEnd.FAILED:
            return result
        feedback = result.feedback
        Progress(digest(task.requirements), so_far.turn + turn, feedback).save(run.state)
    return LoopResult(LoopEnd.OUT_OF_TURNS, max_turns, feedback)


def approves(feedback: str) -> bool:
    """Return whether a line is exactly `IMPLEMENTATION_APPROVED`."""
    return APPROVED in feedback.split("\n")


def _turn(run: Run, toolbox: Toolbox, task: Task, turn: int, max_turns: int, feedback: str) -> LoopResult:
    show(run, filled(TURN, number=str(turn), turns=str(max_turns)))
    player = _player(run, toolbox, task, feedback)
    if player.tampered:
        return _tampered("player", player, turn, feedback)
    show(run, filled(COACH, number=str(turn), turns=str(max_turns)))
    coach = _coach(run, toolbox, task, f"[{player.end.value}]\n{player.text}")
    if coach.tampered:
        return _tampered("coach", coach, turn, feedback)
    if coach.finished and approves(coach.text):
        return LoopResult(LoopEnd.APPROVED, turn)
    said = coach.text or f"The coach gave no feedback: {coach.end.value}."
    show(run, f"{FEEDBACK}\n{feedback_lines(said, coach.transcript.name)}")
    return LoopResult(LoopEnd.OUT_OF_TURNS, turn, said)


def _player(run: Run, toolbox: Toolbox, task: Task, feedback: str) -> AgentResult:
    prompt = filled(PLAYER_TURN, file=task.file, token=run.token, requirements=task.requirements)
    if feedback:
        prompt += filled(PLAYER_FEEDBACK, token=run.token, feedback=feedback)
    return run_agent(
        run,
        run.model("player"),
        toolbox,
        allow=(*PLAYER_TOOLS, *toolbox.of_servers),
        system=filled(PLAYER_SYSTEM, codepath=legible(str(run.root))),
        prompt=prompt,
        label="player",
        on_call=lambda called: say_call(run, "player", called),
    )


def _coach(run: Run, toolbox: Toolbox, task: Task, report: str) -> AgentResult:
    return run_agent(
        run,
        run.model("coach"),
        toolbox,
        allow=COACH_TOOLS,
        system=filled(COACH_SYSTEM, codepath=legible(str(run.root))),
        prompt=filled(
            COACH_TURN,
            file=task.file,
            token=run.token,
            requirements=task.requirements,
            report=report,
            diff=changes_since(task.since, run, run.settings.diff_limit),
        ),
        label="coach",
        on_call=lambda called: say_call(run, "coach", called),
    )


def say_call(run: Run, agent: str, called: CalledTool) -> None:
    """Show the person one tool call, in one line."""
    run.say(tool_line(agent, called))


def _tampered(who: str, result: AgentResult, turn: int, feedback: str) -> LoopResult:
    error = f"a command of the {who} changed files that check the project: {', '.join(result.tampered)}"
    return LoopResult(LoopEnd.FAILED, turn, feedback, error)
