"""Planning: run the state machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from code_commit.plugin_api import FileDiff, Outcome, Result, Run, StateEntered, count_of
from code_commit_planner.agents.changes import files_data, show_files
from code_commit_planner.agents.coach_and_player import has_build
from code_commit_planner.agents.work_done import Work
from code_commit_planner.complete.commit import commit, rename, stage
from code_commit_planner.complete.review import offer_commit_again, review_staged
from code_commit_planner.dialog import messages
from code_commit_planner.dialog.retry import QuitAtError
from code_commit_planner.dialog.spending import report_spent
from code_commit_planner.git.repository import Repository
from code_commit_planner.implement.completion import judge_completion
from code_commit_planner.implement.work import coach_and_player, implement
from code_commit_planner.machine import FINAL, Event, State, next_state
from code_commit_planner.plan import Plan
from code_commit_planner.plan_folder.folder import CURRENT, TODO, PlanFolder
from code_commit_planner.refine.steps import ask_for_approval, prompt_for_requirements, refine
from code_commit_planner.start.checks import check_branch, check_dirty, startup
from code_commit_planner.start.recovery import (
    attempt_recovery,
    look_for_leftovers,
    offer_recovery,
    skip_recovery,
)
from code_commit_toolbox.toolbox import open_toolbox

STEPS: Mapping[State, Callable[[Plan], Event]] = {
    State.STARTUP: startup,
    State.BRANCH_CHECK: check_branch,
    State.DIRTY_CHECK: check_dirty,
    State.LEFTOVERS: look_for_leftovers,
    State.RECOVERY: offer_recovery,
    State.RECOVERY_ATTEMPTED: attempt_recovery,
    State.RECOVERY_SKIPPED: skip_recovery,
    State.NEW_REQUIREMENTS: prompt_for_requirements,
    State.REFINE: refine,
    State.APPROVAL: ask_for_approval,
    State.IMPLEMENT: implement,
    State.COACH_AND_PLAYER: coach_and_player,
    State.COMPLETE: judge_completion,
    State.RENAME: rename,
    State.STAGE: stage,
    State.REVIEW: review_staged,
    State.COMMIT: commit,
    State.COMMIT_FAILED: offer_commit_again,
}


def run_plan(run: Run) -> Result:
    """Refine requirements with a person, implement them, commit, and repeat until the person quits.

    Raises:
        NotReady: there is no repository, or a file is in the way of the plan folder.
        ProviderFailed, LimitReached: a call of the planner's model failed; the next start continues
            from the files.
    """
    repository = None
    if not run.options.no_git:
        repository = Repository(run, hooks=run.settings.commit_hooks)
    if run.settings.acceptance and has_build(run):
        run.build_command()  # it raises, before any paid call
    toolbox = open_toolbox(run, todo=TODO)
    work = Work(run, CURRENT)
    plan = Plan(run, PlanFolder(run), toolbox, repository, work)
    state = State.STARTUP
    previous = state
    while state not in FINAL:
        run.emit(StateEntered(state.value))
        previous = state
        try:
            state = next_state(state, STEPS[state](plan))
        except QuitAtError:
            state = State.QUIT
    run.emit(StateEntered(state.value))
    files = _files(plan)
    if plan.turns or plan.commits:
        _summarize(plan, files)
    return _result(plan, state, previous, files)


def _files(plan: Plan) -> Sequence[FileDiff]:
    """Return the files that the agents changed in this session, or in work that it continued."""
    files = dict(plan.files)
    if plan.loop is not None:
        files |= {file.path: file for file in plan.work.changes().files}
    return list(files.values())


def _summarize(plan: Plan, files: Sequence[FileDiff]) -> None:
    """Show what the session did and cost."""
    lines = "".join(f"\n  {line}" for line in plan.commits)
    costs = report_spent(plan.run)
    if costs:
        costs = f", {costs}"
    plan.say(
        messages.SESSION,
        turns=count_of(plan.turns, "turn"),
        commits=count_of(len(plan.commits), "commit"),
        spent=costs + lines,
    )
    show_files(plan.run, files)


def _result(plan: Plan, state: State, previous: State, files: Sequence[FileDiff]) -> Result:
    """Return the result of a session that ended in `state`."""
    commits = [line.partition(" ")[0] for line in plan.commits]
    data = {"state": previous.value, "commits": commits, "files": files_data(files)}
    outcome = Outcome.NOT_REACHED
    if state is State.QUIT:
        outcome = Outcome.REACHED
        message = messages.BYE
    elif state is State.NO_ANSWER:
        message = messages.RESTART
    else:
        message = messages.INPUT_ENDED
    summary = plan.fill(message, state=previous.value)
    return Result(outcome, summary, data, hint=messages.CONTINUE)
