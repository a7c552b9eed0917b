"""The loop in which a player implements requirements and a coach reviews them, until the coach
approves.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from code_commit.plugin_api import CodeCommitError, ProviderFailed, ResponseRefused, Run
from code_commit_planner.agents import prompts
from code_commit_planner.agents.changes import changes_since
from code_commit_planner.agents.display import feedback_lines
from code_commit_planner.agents.guard import Guard
from code_commit_planner.agents.progress import Progress, digest, forget_progress
from code_commit_planner.agents.prompts import (
    APPROVED,
    ASKED,
    COACH_SYSTEM,
    COACH_TURN,
    COACH_WORK,
    PLAYER_FEEDBACK,
    PLAYER_SYSTEM,
    PLAYER_TURN,
)
from code_commit_planner.agents.watching import work
from code_commit_planner.dialog.messages import (
    BUILD_IS_RED,
    CHANGED_GIT,
    COACH,
    FEEDBACK,
    IS_APPROVED,
    SO_FAR,
    TAMPERED,
    TURN,
)
from code_commit_planner.dialog.notices import Notice, show
from code_commit_planner.dialog.spending import report_spent
from code_commit_planner.dialog.text import fill, legible
from code_commit_planner.plan_folder.folder import TODO
from code_commit_toolbox.outcome import AgentResult
from code_commit_toolbox.process_report import process_report
from code_commit_toolbox.toolbox import Toolbox

PLAYER_TOOLS = (
    *("read_file", "list_files", "code_search", "write_file", "str_replace", "shell"),
    *("todo_read", "todo_write", "final_output"),
)
_MARKS = "#*_`-+ \t\r"
COACH_TOOLS = ("read_file", "list_files", "code_search", "shell", "todo_read", "final_output")


class LoopEnd(Enum):
    """How the loop ended."""

    APPROVED = "approved"
    OUT_OF_TURNS = "out of turns"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of the loop: the coach's last `feedback`; after a failure, its message and the
    exception `raised`.
    """

    end: LoopEnd
    turns: int
    feedback: str = ""
    error: str = ""
    raised: CodeCommitError | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The requirements, their file, and the commit at which the work began.

    With `builds`, `build.sh` must pass, too. `head` returns git's branch and commit, which nobody
    may change meanwhile.
    """

    file: str
    requirements: str
    since: str = "HEAD"
    builds: bool = False
    head: Callable[[], str] = str


def build(
    run: Run, toolbox: Toolbox, task: Task, *, max_turns: int, so_far: Progress
) -> LoopResult:
    """Let the player and the coach take turns; `so_far` is the progress of an earlier run.

    Raises:
        LimitReached, NotReady: from the host; they end the run, and the next run can continue.
    """
    head = task.head()
    guard = Guard(run, (task.file,), lambda: head)
    loop = _Loop(run, toolbox, task, max_turns, so_far.asked, guard, head)
    feedback = so_far.feedback
    for turn in range(1, max_turns + 1):
        with run.span("planner.turn", number=turn):
            try:
                result = loop.turn(turn, feedback)
            except (ProviderFailed, ResponseRefused) as error:
                return LoopResult(LoopEnd.FAILED, turn, feedback, error.message, error)
        if result.end is LoopEnd.APPROVED:
            forget_progress(run.state)
            show(run, IS_APPROVED, style="green")
            return result
        if result.end is LoopEnd.FAILED:
            return result
        feedback = result.feedback
        Progress(digest(task.requirements), so_far.turn + turn, feedback, so_far.asked).save(
            run.state
        )
    return LoopResult(LoopEnd.OUT_OF_TURNS, max_turns, feedback)


def approves(feedback: str) -> bool:
    """Return whether a line is `IMPLEMENTATION_APPROVED`, apart from blanks, Markdown marks and a
    final period.
    """
    return any(
        line.strip().strip(_MARKS).removesuffix(".").strip(_MARKS) == APPROVED
        for line in feedback.split("\n")
    )


@dataclass(frozen=True, slots=True)
class _Loop:
    """One task, in turns."""

    run: Run
    toolbox: Toolbox
    task: Task
    turns: int
    asked: str
    guard: Guard
    head: str

    def turn(self, turn: int, feedback: str) -> LoopResult:
        self._announce(TURN, turn)
        player = self._player(feedback)
        if failure := self._failure("player", player):
            return LoopResult(LoopEnd.FAILED, turn, feedback, failure)
        self._announce(COACH, turn)
        coach = self._coach(f"[{player.end.value}]\n{player.text}")
        if failure := self._failure("coach", coach):
            return LoopResult(LoopEnd.FAILED, turn, feedback, failure)
        if coach.finished and approves(coach.text):
            return (
                self._built(turn, feedback)
                if self.task.builds
                else LoopResult(LoopEnd.APPROVED, turn)
            )
        feedback = coach.text or f"The coach gave no feedback: {coach.end.value}."
        self.run.emit(Notice(f"{FEEDBACK}\n{feedback_lines(feedback, coach.transcript.name)}"))
        # The person has already seen the coach's text.
        self.run.say(FEEDBACK.replace(":", "."), "yellow")
        return LoopResult(LoopEnd.OUT_OF_TURNS, turn, feedback)

    def _built(self, turn: int, feedback: str) -> LoopResult:
        """Let `build.sh`, if there is one, confirm the approval; the player gets the output of a
        red build.
        """
        if not has_build(self.run):
            return LoopResult(LoopEnd.APPROVED, turn)
        built = self.run.build()
        if built.tampered:
            error = f"the build changed files that check the project: {', '.join(built.tampered)}"
            return LoopResult(LoopEnd.FAILED, turn, feedback, error)
        if built.passed:
            return LoopResult(LoopEnd.APPROVED, turn)
        output = feedback_lines(built.last_lines(), built.log.name)
        show(self.run, f"{BUILD_IS_RED}\n{output}", style="red")
        report = process_report(self.run, built, self.toolbox.settings.output_limit)
        command = shlex.join(self.run.build_command())
        return LoopResult(
            LoopEnd.OUT_OF_TURNS, turn, fill(prompts.BUILD_IS_RED, command=command, report=report)
        )

    def _announce(self, message: str, turn: int) -> None:
        costs = report_spent(self.run)
        so_far = fill(SO_FAR, spent=costs) if costs else ""
        turns = str(self.turns)
        show(self.run, message, style="bold", number=str(turn), turns=turns, spent=so_far)

    def _player(self, feedback: str) -> AgentResult:
        token = self.run.token
        prompt = fill(PLAYER_FEEDBACK, token=token, feedback=feedback) if feedback else ""
        tools = (*PLAYER_TOOLS, *self.toolbox.of_servers)
        return self._agent("player", tools, PLAYER_SYSTEM, PLAYER_TURN, prompt, writes=(TODO,))

    def _coach(self, report: str) -> AgentResult:
        run = self.run
        diff = changes_since(self.task.since, run, run.settings.diff_limit)
        prompt = fill(COACH_WORK, token=run.token, report=report, diff=diff)
        return self._agent("coach", COACH_TOOLS, COACH_SYSTEM, COACH_TURN, prompt)

    def _asked(self) -> str:
        return fill(ASKED, token=self.run.token, asked=self.asked) if self.asked else ""

    def _agent(
        self,
        agent: str,
        allow: Sequence[str],
        system: str,
        turn: str,
        prompt: str,
        *,
        writes: tuple[str, ...] = (),
    ) -> AgentResult:
        """Let an agent work on the requirements, which begin the prompt of all its turns, and on
        `prompt`.
        """
        run, task = self.run, self.task
        shared = fill(turn, file=task.file, token=run.token, requirements=task.requirements)
        prompt += self._asked()
        if note := self.guard.note():
            prompt += f"\n{note}\n"
        tools = self.guard.tools(self.toolbox, agent, writes=writes)
        system = fill(system, codepath=legible(str(run.root)))
        return work(run, tools, agent, allow=allow, system=system, prompt=prompt, shared=shared)

    def _failure(self, agent: str, result: AgentResult) -> str:
        if result.tampered:
            return fill(TAMPERED, agent=agent, paths=", ".join(result.tampered))
        if (now := self.task.head()) != self.head:
            return fill(CHANGED_GIT, agent=agent, before=self.head, after=now)
        return ""


def has_build(run: Run) -> bool:
    """Return whether the project has a `build.sh`; where it cannot be read, `Run.build_command`
    says why.
    """
    try:
        return run.tree.read("build.sh", 1) is not None
    except OSError:
        return True
