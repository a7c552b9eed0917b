"""The commit workflow: ask, check, apply, build, repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    LimitReached,
    Result,
    count_of,
)
from code_commit_commit.attempt import Attempt
from code_commit_commit.attempts import Attempts
from code_commit_commit.beginning import Beginning, begin
from code_commit_commit.endings import failed, passed, preview, tampered
from code_commit_commit.formats import FILES
from code_commit_commit.repetition import Repetition
from code_commit_commit.replacements import Replacements

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_commit.candidates import Candidates
    from code_commit_commit.git_commit import GitCommit


def commit(run: Run) -> Result:
    """Change the code as the query describes until `build.sh` passes, with up to `repairs` repairs.

    Raises:
        NotReady: the query, the rollup or build.sh is missing, files changed since the rollup, the
            instructions or the context of a plugin are broken, the context or the response format
            is not installed, the prompt does not fit into the model's window, or git could not
            commit.
        LimitReached: the next prompt exceeds the window, or its call could pass `--max-cost`; the
            message names a red build.
        ResponseRefused: no response was applied: the last one is not usable, changes a path that is
            not allowed or a file that changed in the meantime, or contains a key; or the code of
            the response format failed.
        UsageError: a flag names a format, a context or a file that is not there.
    """
    start = begin(run)
    attempts = _attempts(run, start)
    if run.options.review:
        run.model("reviewer")  # a missing key ends the run before the first call
    git = _git_commit(run, start.context.query, attempts)
    _keep_inputs(run, start)

    prompt = start.prompt
    attempt, repetition = Attempt(), Repetition()
    while True:
        with (
            run.span("attempt", number=attempt.number + 1),
            _limits_name_the_build(attempt),
        ):
            attempt = attempts.make(prompt, attempt.following())
            result = _result(run, attempt, attempts.replacements, git)
        if result:
            return attempts.named(result)
        if not attempt.may_repair:
            break
        is_repeated = repetition.notice(attempt.response, attempt.refusal, applied=attempt.applied)
        if is_repeated or attempt.number > run.options.repairs:
            break
        prompt = attempts.repair_prompt(attempt)
    return attempts.named(failed(run, attempt, attempts.replacements, repetition.noticed))


def _attempts(run: Run, start: Beginning) -> Attempts | Candidates:
    """Return the attempts of the model, or those of several candidates.

    Raises:
        NotReady: the prompt does not fit into the window of a model.
    """
    candidates = run.options.candidates
    names = candidates if isinstance(candidates, tuple) else (None,) * candidates
    models = [run.model(name=name) for name in names]
    if len(models) == 1:
        return Attempts(run, models[0], start)
    from code_commit_commit.candidates import Candidates

    for model in models:
        model.require_fit(start.prompt.size)
    return Candidates(run, models, start)


def _result(
    run: Run,
    attempt: Attempt,
    replacements: Replacements,
    git: GitCommit | None,
) -> Result | None:
    """Return the result of a run that ends with this attempt, or None if a repair may help."""
    if attempt.refused:
        return None
    if run.options.dry_run:
        return preview(run, attempt.changes)
    if attempt.is_accepted:
        return passed(replacements, attempt, git)
    if attempt.build and attempt.build.tampered:
        return tampered(attempt.build)
    return None


def _git_commit(run: Run, query: str, attempts: Attempts | Candidates) -> GitCommit | None:
    """Prepare the commit that the user asked for, if any.

    Its message names the model of the latest attempt.

    Raises:
        NotReady: git could not make it.
    """
    options = run.options
    if options.dry_run or options.no_commit or not (options.commit or run.settings.auto_commit):
        return None
    from code_commit_commit.git_commit import GitCommit, commit_message

    return GitCommit(
        run, lambda: commit_message(run.redacted(query), run.folder.name, attempts.model.name)
    )


def _keep_inputs(run: Run, start: Beginning) -> None:
    """Keep the inputs in the run folder, where `code-commit replay` and `apply` read them back."""
    run.keep("input-query.txt", start.context.query)
    if run.options.edit:
        from code_commit_commit.edited_query import forget_edited_query

        forget_edited_query(run)  # the run folder has it now
    run.keep_input("input-codeRollup.txt", start.context.codebase)
    if run.options.dry_run:
        run.moment()  # other runs look at the files while they wait for the first call
    if start.response_format.name != FILES:
        run.keep("input-format.txt", f"{start.response_format.name}\n")


@contextmanager
def _limits_name_the_build(latest: Attempt) -> Iterator[None]:
    """Add to a limit that ends the run how the latest build ended, if an earlier attempt stands."""
    try:
        yield
    except LimitReached as limit:
        if not latest.build_state:
            raise
        attempts = count_of(latest.number, "attempt")
        raise LimitReached(
            f"{latest.failed_state} after {attempts}; no further repair: {limit.message}",
            hint=limit.hint,
        ) from limit
