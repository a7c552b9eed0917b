"""Autonomous mode: the coach and the player work on `requirements.md` without a person."""

from __future__ import annotations

from code_commit.plugin_api import NotReady, Outcome, QueryRead, Result, Run
from code_commit_planner.agents.changes import files_data, show_files
from code_commit_planner.agents.coach_and_player import (
    LoopEnd,
    Task,
    build,
    has_build,
    say_resumed,
)
from code_commit_planner.agents.progress import read_progress
from code_commit_planner.agents.work_done import Work
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.models import show_models
from code_commit_planner.dialog.text import fill
from code_commit_planner.plan_folder.folder import PlanFolder
from code_commit_toolbox.toolbox import open_toolbox

REQUIREMENTS = "requirements.md"


def build_alone(run: Run) -> Result:
    """Implement `requirements.md` until the coach approves or the turns are used up.

    An interrupted run continues: the player gets the coach's last feedback.

    Raises:
        NotReady: `requirements.md` is missing, or `build.sh` cannot run.
        ProviderFailed: a model call failed.
    """
    requirements = _read_requirements(run)
    if has_build(run):
        run.build_command()  # it raises, before any paid call
    toolbox = open_toolbox(run)
    show_models(run, {role: run.model(role) for role in ("coach", "player")})
    so_far = read_progress(run.state, requirements)
    if so_far.has_begun:
        say_resumed(run, so_far)
    work = Work(run, REQUIREMENTS)
    work.resume(so_far.requirements)
    task = Task(work, requirements, builds=True)
    result = build(run, toolbox, task, max_turns=run.options.max_turns, so_far=so_far)
    files = work.changes().files
    show_files(run, files)
    if result.end is LoopEnd.APPROVED:
        work.forget()
    data = {
        "turns": result.turns,
        "end": result.end.value,
        "feedback": result.feedback,
        "files": files_data(files),
    }
    match result.end:
        case LoopEnd.APPROVED:
            return Result(Outcome.REACHED, messages.APPROVED, data, verdict=result.verdict)
        case LoopEnd.OUT_OF_TURNS:
            message = fill(messages.OUT_OF_TURNS, turns=str(result.turns))
            return Result(Outcome.NOT_REACHED, message, data, verdict=result.verdict)
    if result.raised is not None:
        raise result.raised
    return Result(Outcome.NOT_REACHED, fill(messages.LOOP_FAILED, error=result.error), data)


def _read_requirements(run: Run) -> str:
    """Return the requirements, and report their first line for lists of runs."""
    requirements = PlanFolder(run).utf8(REQUIREMENTS)
    hint = f"describe in {REQUIREMENTS} what to build"
    if requirements is None:
        raise NotReady(f"there is no {REQUIREMENTS} in {run.root}", hint=hint)
    if not requirements.strip():
        raise NotReady(f"{REQUIREMENTS} is empty in {run.root}", hint=hint)
    first_line = requirements.strip().splitlines()[0].strip()
    run.emit(QueryRead(first_line[:200]))
    return requirements
