"""How a run of the commit workflow ends: the result for each ending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    NotReady,
    Outcome,
    ProcessResult,
    ResponseRefused,
    Result,
    count_of,
    join_paths,
)
from code_commit_commit.prompts import build_end
from code_commit_commit.replacements import Replacements, count, differs, paths
from code_commit_commit.validation import UnusableResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from code_commit.plugin_api import Change, Run
    from code_commit_commit.attempt import Attempt
    from code_commit_commit.git_commit import GitCommit


ABBREVIATED = 12  # characters of a commit's id


def preview(run: Run, changes: Sequence[Change]) -> Result:
    """Show what a response would change."""
    different = [change for change in changes if differs(change, run.tree)]
    if not different:
        summary = "nothing would change: every file already has this content; build.sh was not run"
        return Result(Outcome.REACHED, summary, {**paths(()), "nothing_to_change": True})
    run.say(run.diff(changes))
    hint = f"`code-commit apply {run.folder.name}` applies it" if "apply" in run.commands else ""
    return Result(
        Outcome.REACHED,
        f"{count(different)} would change; nothing was written",
        paths(different),
        hint,
    )


def passed(replacements: Replacements, attempt: Attempt, git: GitCommit | None) -> Result:
    """End the run after a green build of changes that no acceptance check refuses."""
    verdict = attempt.verdict
    changes = replacements.net
    if not replacements.latest:
        summary = (
            "nothing to change: every file already has the content of the response, "
            "and the build passes"
        )
        return Result(Outcome.REACHED, summary, {**paths(changes), "nothing_to_change": True})
    if not changes:
        return Result(
            Outcome.NOT_REACHED,
            "the build passes, but later responses reverted all changes",
            paths(changes),
        )
    summary = f"{count(changes)} changed, the build passes"
    if attempt.number > 1:
        summary += f" after {count_of(attempt.number, 'attempt')}"
    if git is None:
        return Result(Outcome.REACHED, summary, paths(changes), verdict=verdict)
    try:
        commit_id = git.make(changes, verdict.trailers if verdict else {}, replacements.merged)
    except NotReady as error:
        summary += f", but nothing is committed: {error.message}"
        return Result(Outcome.NOT_REACHED, summary, paths(changes), error.hint, verdict=verdict)
    short = commit_id[:ABBREVIATED]
    summary += f"; committed as {short} on {git.branch()}"
    hint = f"`git show {short}` shows it, `git revert {short}` reverts it"
    data = {**paths(changes), "committed": commit_id}
    return Result(Outcome.REACHED, summary, data, hint, verdict=verdict)


def tampered(build: ProcessResult) -> Result:
    """End the run after a build that changed its own checks: its result is not valid."""
    summary = f"the build changed its own checks: {join_paths(build.tampered)}"
    return Result(Outcome.NOT_REACHED, summary, {"tampered": list(build.tampered)})


def failed(run: Run, attempt: Attempt, replacements: Replacements, repeated: str) -> Result:
    """End the run after its last attempt.

    `repeated` is how the last response repeats another one.

    Raises:
        ResponseRefused: no response was applied.
    """
    after = f"after {count_of(attempt.number, 'attempt')}"
    repetition = f"; {repeated}" if repeated else ""
    if attempt.refused and not attempt.build_state:
        raise _refused(attempt.refused, after, repetition)
    reason = _reason(attempt.refused) if attempt.refused else ""
    if attempt.verdict and not attempt.cannot_run:
        headline = attempt.verdict.headline.rstrip(".")
        return Result(
            Outcome.NOT_REACHED,
            f"{attempt.failed_state} {after}: {headline}{reason}{repetition}",
            verdict=attempt.verdict,
        )
    before = "; no response changed a file"
    if replacements.latest:
        before = _red_before(run)
    return Result(
        Outcome.NOT_REACHED,
        f"{attempt.failed_state} {after}{reason}{repetition}{before}",
    )


def _refused(refused: ResponseRefused, after: str, repetition: str) -> ResponseRefused:
    """Return the error of a run without any response that can be applied."""
    if not isinstance(refused, UnusableResponse):
        return refused
    reason = refused.message
    if repetition:
        reason = reason.rstrip(".")
    return ResponseRefused(
        f"no response can be applied {after}: {reason}{repetition}", hint=refused.hint
    )


def _reason(refused: ResponseRefused) -> str:
    """Return why the last response was not applied, as the end of a sentence."""
    reason = refused.message.rstrip(".")
    if isinstance(refused, UnusableResponse):
        return f"; the last response cannot be applied: {reason}"
    return f"; {reason}"


def _red_before(run: Run) -> str:
    """Return how build.sh ended on the files from before the run, if it was red."""
    before = run.baseline_build
    if before is None or before.passed:
        return ""
    return f"; it was red before the run, too: {build_end(before)} on the original files"
