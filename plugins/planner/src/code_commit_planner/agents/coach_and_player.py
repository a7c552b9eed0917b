"""The loop in which a player implements requirements and a coach reviews them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from code_commit.plugin_api import (
    CodeCommitError,
    ProcessResult,
    ProviderFailed,
    ResponseRefused,
    Run,
    Verdict,
)
from code_commit_planner.agents import prompts
from code_commit_planner.agents.changes import changes_text
from code_commit_planner.agents.display import feedback_lines
from code_commit_planner.agents.guard import Guard
from code_commit_planner.agents.progress import Progress, forget_progress
from code_commit_planner.agents.watching import work
from code_commit_planner.agents.work_done import Work
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.notices import Notice, show
from code_commit_planner.dialog.spending import report_spent
from code_commit_planner.dialog.text import fill, legible
from code_commit_planner.plan_folder.folder import TODO
from code_commit_toolbox.outcome import AgentResult
from code_commit_toolbox.process_report import process_report
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.toolbox import Toolbox

PLAYER_TOOLS = (
    "read_file",
    "list_files",
    "code_search",
    "write_file",
    "str_replace",
    "shell",
    "todo_read",
    "todo_write",
    "final_output",
)
COACH_TOOLS = ("read_file", "list_files", "code_search", "shell", "todo_read", "final_output")
_MARKS = "#*_`-+ \t\r"


class LoopEnd(Enum):
    """How the loop ended."""

    APPROVED = "approved"
    OUT_OF_TURNS = "out of turns"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LoopResult:
    """The result of the loop.

    `feedback` is the coach's last feedback. After a failure, `error` is its message, and `raised`
    its exception. `verdict` is that of the acceptance checks, if the last turn asked them.
    """

    end: LoopEnd
    turns: int
    feedback: str = ""
    error: str = ""
    raised: CodeCommitError | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The requirements, and the work on them.

    With `builds`, `build.sh` must pass, too. `head` returns git's branch and commit, which nobody
    may change meanwhile.
    """

    work: Work
    requirements: str
    builds: bool = False
    head: Callable[[], str] = str


def build(
    run: Run,
    toolbox: Toolbox,
    task: Task,
    *,
    max_turns: int,
    so_far: Progress,
) -> LoopResult:
    """Let the player and the coach take turns; `so_far` is the progress of an earlier run.

    Raises:
        LimitReached, NotReady: from the host; they end the run, and the next run can continue.
    """
    head = task.head()
    guard = Guard(run, (task.work.file,), lambda: head)
    loop = _Loop(
        run,
        toolbox,
        task,
        turns=max_turns,
        asked=so_far.asked,
        guard=guard,
        head=head,
    )
    progress = so_far
    for turn in range(1, max_turns + 1):
        with run.span("planner.turn", number=turn):
            try:
                result = loop.turn(turn, progress)
            except (ProviderFailed, ResponseRefused) as error:
                return LoopResult(LoopEnd.FAILED, turn, progress.feedback, error.message, error)
        if result.end is LoopEnd.APPROVED:
            forget_progress(run.state)
            show(run, messages.IS_APPROVED, style="green")
            return result
        progress = replace(progress, report="")
        if result.end is LoopEnd.OUT_OF_TURNS:
            progress = replace(progress, turn=progress.turn + 1, feedback=result.feedback)
        progress.save(run.state)
        if result.end is LoopEnd.FAILED:
            return result
    return result


def say_resumed(run: Run, so_far: Progress) -> None:
    """Tell the person where an interrupted run continues."""
    if so_far.report:
        show(run, messages.COACH_RESUMED)
    else:
        show(run, messages.LOOP_RESUMED, turn=str(so_far.turn))


def approves(feedback: str) -> bool:
    """Return whether a line is `IMPLEMENTATION_APPROVED`.

    Blanks, Markdown marks and a final period do not count.
    """
    lines = (line.strip().strip(_MARKS) for line in feedback.split("\n"))
    return any(line.removesuffix(".").strip(_MARKS) == prompts.APPROVED for line in lines)


@dataclass(frozen=True, slots=True)
class _Loop:
    """One task, in turns. `asked` is what the person asked for after a review."""

    run: Run
    toolbox: Toolbox
    task: Task
    turns: int
    asked: str
    guard: Guard
    head: str

    def turn(self, turn: int, progress: Progress) -> LoopResult:
        """Let the player work and the coach review; `OUT_OF_TURNS` means that they go on.

        If the coach has not reviewed the player's last report yet, only the coach works.
        """
        feedback = progress.feedback
        report = progress.report
        if not report:
            self._announce(messages.TURN, turn)
            player = self._player(feedback)
            if failure := self._failure("player", player):
                return LoopResult(LoopEnd.FAILED, turn, feedback, failure)
            report = f"[{player.end.value}]\n{player.text}"
            replace(progress, report=report).save(self.run.state)
        self._announce(messages.COACH, turn)
        coach = self._coach(report)
        if failure := self._failure("coach", coach):
            return LoopResult(LoopEnd.FAILED, turn, feedback, failure)
        if coach.finished and approves(coach.text):
            return self._confirm(turn, feedback)
        feedback = coach.text or f"The coach gave no feedback: {coach.end.value}."
        lines = feedback_lines(feedback, coach.transcript.name)
        self.run.emit(Notice(f"{messages.FEEDBACK}\n{lines}"))
        # The person has already seen the coach's text.
        self.run.say(messages.FEEDBACK.replace(":", "."), "yellow")
        return LoopResult(LoopEnd.OUT_OF_TURNS, turn, feedback)

    def _confirm(self, turn: int, feedback: str) -> LoopResult:
        """Let the build confirm the coach's approval, if the task and the project have one.

        The player gets the output of a red build as feedback.
        """
        if not self.task.builds or not has_build(self.run):
            return LoopResult(LoopEnd.APPROVED, turn)
        self.run.moment()  # so that what people changed before does not count as the build's
        result = self.run.build()
        if result.tampered:
            paths = ", ".join(result.tampered)
            error = f"the build changed files that check the project: {paths}"
            return LoopResult(LoopEnd.FAILED, turn, feedback, error)
        if result.passed:
            return self._accept(turn, result)
        output = feedback_lines(result.last_lines(), result.log.name)
        show(self.run, f"{messages.BUILD_IS_RED}\n{output}", style="red")
        command = shlex.join(self.run.build_command())
        report = process_report(self.run, result, self.toolbox.settings.output_limit)
        feedback = fill(prompts.BUILD_IS_RED, command=command, report=report)
        return LoopResult(LoopEnd.OUT_OF_TURNS, turn, feedback)

    def _accept(self, turn: int, build: ProcessResult) -> LoopResult:
        """Let the acceptance checks confirm the work, if the settings ask for them.

        The player gets the reason of a refusal as feedback.
        """
        verdict = None
        if self.run.settings.acceptance:
            todo = self.toolbox.settings.todo_file
            verdict = self.task.work.changes().accept(self.task.requirements, build, todo=todo)
        if verdict is None or verdict.accepted:
            return LoopResult(LoopEnd.APPROVED, turn, verdict=verdict)
        heading = fill(messages.CHANGE_IS_REFUSED, check=verdict.refused_by)
        reason = feedback_lines(verdict.reason, "the player's transcript")
        show(self.run, f"{heading}\n{reason}", style="red")
        limit = self.toolbox.settings.output_limit
        feedback = prompts.CHANGE_IS_REFUSED + head_and_tail(verdict.reason, limit)
        return LoopResult(LoopEnd.OUT_OF_TURNS, turn, feedback, verdict=verdict)

    def _announce(self, message: str, turn: int) -> None:
        costs = report_spent(self.run)
        so_far = fill(messages.SO_FAR, spent=costs) if costs else ""
        turns = str(self.turns)
        show(self.run, message, style="bold", number=str(turn), turns=turns, spent=so_far)

    def _player(self, feedback: str) -> AgentResult:
        prompt = ""
        if feedback:
            prompt = fill(prompts.PLAYER_FEEDBACK, token=self.run.token, feedback=feedback)
        return self._agent(
            "player",
            allow=(*PLAYER_TOOLS, *self.toolbox.added),
            system=prompts.PLAYER_SYSTEM,
            turn=prompts.PLAYER_TURN,
            prompt=prompt,
            writes=(TODO,),
        )

    def _coach(self, report: str) -> AgentResult:
        run = self.run
        diff = changes_text(self.task.work.changes(), run.settings.diff_limit)
        return self._agent(
            "coach",
            allow=COACH_TOOLS,
            system=prompts.COACH_SYSTEM,
            turn=prompts.COACH_TURN,
            prompt=fill(prompts.COACH_WORK, token=run.token, report=report, diff=diff),
        )

    def _agent(
        self,
        agent: str,
        *,
        allow: Sequence[str],
        system: str,
        turn: str,
        prompt: str,
        writes: tuple[str, ...] = (),
    ) -> AgentResult:
        """Let an agent work on the requirements and `prompt`.

        The requirements come first, so that all turns of an agent share the start of their prompt.
        """
        run, task = self.run, self.task
        if self.asked:
            prompt += fill(prompts.ASKED, token=run.token, asked=self.asked)
        if note := self.guard.note():
            prompt += f"\n{note}\n"
        return work(
            run,
            self.guard.tools(self.toolbox, agent, writes=writes),
            agent,
            allow=allow,
            system=fill(system, codepath=legible(str(run.root))),
            prompt=prompt,
            shared=fill(turn, file=task.work.file, token=run.token, requirements=task.requirements),
        )

    def _failure(self, agent: str, result: AgentResult) -> str:
        """Return an error if an agent changed git's HEAD, or files that check the project."""
        if result.tampered:
            paths = ", ".join(result.tampered)
            return fill(messages.TAMPERED, agent=agent, paths=paths)
        head = self.task.head()
        if head != self.head:
            return fill(messages.CHANGED_GIT, agent=agent, before=self.head, after=head)
        return ""


def has_build(run: Run) -> bool:
    """Return whether the project has a `build.sh`.

    One that cannot be read counts as well: `Run.build_command` reports why.
    """
    try:
        return run.tree.read("build.sh", 1) is not None
    except OSError:
        return True
