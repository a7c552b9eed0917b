"""The commit workflow: ask, check, apply, build, repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    LimitReached,
    Message,
    MessageLogged,
    NotReady,
    PromptPart,
    PromptSize,
    Request,
    ResponseRefused,
    Result,
    Text,
    count_of,
)
from code_commit_commit.endings import build_state, failed, passed, preview, tampered
from code_commit_commit.inputs import read_context, warn_of_uncommitted_changes
from code_commit_commit.kept_form import KeptForms
from code_commit_commit.prompts import build_end, failure_text, initial_prompt, repair_prompt
from code_commit_commit.repetition import Repetition
from code_commit_commit.replacements import Replacements
from code_commit_commit.response import watch_response
from code_commit_commit.validation import UnusableResponse, read_changes
from code_commit_commit.window import code_part, failure_part, query_part, replacements_part

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_commit.git_commit import GitCommit


def commit(run: Run) -> Result:
    """Change the code as the query describes until `build.sh` passes, with up to `repairs` repairs.

    Raises:
        NotReady: the query, the rollup or build.sh is missing, files changed since the rollup, the
            prompt does not fit into the model's window, or git could not commit.
        LimitReached: the next prompt exceeds the window, or its call could pass `--max-cost`; the
            message names a red build.
        ResponseRefused: no response was applied: the last one is not usable, changes a path that is
            not allowed or a file that changed in the meantime, or contains a key.
    """
    context, seen = read_context(run)
    order = run.settings.prompt_order
    # Writing to the cache may cost extra: mark the prompt only if a repair may read it.
    marked = order == "cached" and run.options.repairs > 0 and not run.options.dry_run
    model, request = run.model(), _request(initial_prompt(context, order), marked=marked)
    inputs = (query_part(context.query), code_part(context.codebase))
    parts: tuple[PromptPart, ...] = inputs
    model.require_fit(PromptSize.of(request, parts))
    git = _git_commit(run, context.query, model.name)
    warn_of_uncommitted_changes(run)
    if run.settings.build_untouched == "before":
        _require_green(run)
        seen.renew()
    run.keep("input-query.txt", context.query)  # `code-commit replay` reads both back
    run.keep("input-codeRollup.txt", context.codebase)
    replacements = Replacements(run, seen)
    repetition, forms = Repetition(), KeptForms(run)
    failure, red, cannot_run = "", None, ""
    watch = partial(watch_response, run.max_files)
    for number in range(1, run.options.repairs + 2):
        unusable, applied = None, False
        with (
            run.span("attempt", number=number),
            _limits_name_the_build(number - 1, build_state(red, cannot_run)),
        ):
            try:
                label = "initial-query" if number == 1 else "repair-query"
                completion = model.complete(request, label=label, watch=watch, parts=parts)
                changes = read_changes(completion, run, (context.codebase, failure), seen, forms)
                if run.options.dry_run:
                    return preview(run, changes)
                applied = replacements.apply(changes)
            except ResponseRefused as refused:
                unusable = refused
            else:
                cannot_run = _why_build_cannot_run(run, replacements)
                red = red if cannot_run else seen.build()
                if red and red.passed:
                    return passed(replacements, number, git)
                if red and red.tampered:
                    return tampered(red)
        if unusable and not isinstance(unusable, UnusableResponse):
            break
        if repetition.notice(completion.text, str(unusable or ""), applied=applied):
            break
        failure = failure_text(str(unusable or ""), red, seen.returned, cannot_run)
        request = _request(
            repair_prompt(context, failure, replacements.latest, run.token, order), marked=marked
        )
        parts = (*inputs, failure_part(failure), replacements_part(replacements.latest))
    return failed(
        run,
        number,
        unusable,
        red,
        cannot_run=cannot_run,
        changed=bool(replacements.latest),
        repeated=repetition.noticed,
    )


def _request(prompt: tuple[str, ...], *, marked: bool) -> Request:
    *same, last = prompt
    parts = (*(Text(text, cache_here=marked) for text in same), Text(last))
    return Request(messages=(Message("user", parts),))


def _git_commit(run: Run, query: str, model: str) -> GitCommit | None:
    """Prepare the commit that the user asked for, if any.

    Raises:
        NotReady: git could not make it.
    """
    options = run.options
    if options.dry_run or options.no_commit or not (options.commit or run.settings.auto_commit):
        return None
    from code_commit_commit.git_commit import GitCommit, commit_message

    return GitCommit(run, commit_message(run.redacted(query), run.folder.name, model))


def _require_green(run: Run) -> None:
    """Check that build.sh passes before any change.

    Raises:
        NotReady: it fails.
    """
    build = run.build()
    if not build.passed:
        raise NotReady(
            f"the build is red before any change: {build_end(build)}",
            hint="fix it first, or remove the setting build_untouched if the query describes the fix",
        )


def _why_build_cannot_run(run: Run, replacements: Replacements) -> str:
    """Return why `build.sh` cannot run after a change of a response, or an empty text."""
    if not replacements.latest:
        return ""
    try:
        run.build_command()
    except NotReady as error:
        reason = f"build.sh cannot run: {error.message}"
        run.emit(MessageLogged(reason, level="warning"))
        return reason
    return ""


@contextmanager
def _limits_name_the_build(attempts: int, state: str) -> Iterator[None]:
    """Add to a limit that ends the run how the latest build ended, if an earlier attempt stands."""
    try:
        yield
    except LimitReached as limit:
        if not state:
            raise
        build = f"the build is red: {state} after {count_of(attempts, 'attempt')}"
        raise LimitReached(
            f"{build}; no further repair: {limit.message}", hint=limit.hint
        ) from limit
