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
    Outcome,
    ProcessResult,
    PromptPart,
    PromptSize,
    Request,
    ResponseRefused,
    Result,
    Text,
    count_of,
)
from code_commit_commit.inputs import read_context, warn_of_uncommitted_changes
from code_commit_commit.kept_form import KeptForms
from code_commit_commit.prompts import build_end, failure_text, initial_prompt, repair_prompt
from code_commit_commit.repetition import Repetition
from code_commit_commit.replacements import Replacements, count, differs, paths
from code_commit_commit.response import watch_response
from code_commit_commit.validation import UnusableResponse, read_changes
from code_commit_commit.window import code_part, failure_part, query_part, replacements_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from code_commit.plugin_api import Change, Run
    from code_commit_commit.git_commit import GitCommit


ABBREVIATED = 12  # characters of a commit's id


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
            _limits_name_the_build(number - 1, _build_state(red, cannot_run)),
        ):
            try:
                label = "initial-query" if number == 1 else "repair-query"
                completion = model.complete(request, label=label, watch=watch, parts=parts)
                changes = read_changes(completion, run, (context.codebase, failure), seen, forms)
                if run.options.dry_run:
                    return _preview(run, changes)
                applied = replacements.apply(changes)
            except ResponseRefused as refused:
                unusable = refused
            else:
                cannot_run = _why_build_cannot_run(run, replacements)
                red = red if cannot_run else seen.build()
                if red and red.passed:
                    return _passed(replacements, number, git)
                if red and red.tampered:
                    return _tampered(red)
        if unusable and not isinstance(unusable, UnusableResponse):
            break
        if repetition.notice(completion.text, str(unusable or ""), applied=applied):
            break
        failure = failure_text(str(unusable or ""), red, seen.returned, cannot_run)
        request = _request(
            repair_prompt(context, failure, replacements.latest, run.token, order), marked=marked
        )
        parts = (*inputs, failure_part(failure), replacements_part(replacements.latest))
    return _failed(
        run,
        number,
        unusable,
        red,
        cannot_run=cannot_run,
        changed=bool(replacements.latest),
        repeated=repetition.noticed,
    )


def _preview(run: Run, changes: Sequence[Change]) -> Result:
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


def _passed(replacements: Replacements, attempts: int, git: GitCommit | None) -> Result:
    changes = replacements.net
    if not replacements.latest:
        summary = "nothing to change: every file already has the content of the response, and the build passes"
        return Result(Outcome.REACHED, summary, {**paths(changes), "nothing_to_change": True})
    if not changes:
        return Result(
            Outcome.NOT_REACHED,
            "the build passes, but later responses reverted all changes",
            paths(changes),
        )
    summary = f"{count(changes)} changed, the build passes"
    if attempts > 1:
        summary += f" after {count_of(attempts, 'attempt')}"
    if git is None:
        return Result(Outcome.REACHED, summary, paths(changes))
    try:
        commit_id = git.make(changes)
    except NotReady as error:
        summary += f", but nothing is committed: {error.message}"
        return Result(Outcome.NOT_REACHED, summary, paths(changes), error.hint)
    short = commit_id[:ABBREVIATED]
    summary += f"; committed as {short} on {git.branch()}"
    hint = f"`git show {short}` shows it, `git revert {short}` reverts it"
    return Result(Outcome.REACHED, summary, {**paths(changes), "committed": commit_id}, hint)


def _tampered(build: ProcessResult) -> Result:
    """End the run after a build that changed its own checks: its result is not valid."""
    summary = f"the build changed its own checks: {', '.join(build.tampered)}"
    return Result(Outcome.NOT_REACHED, summary, {"tampered": list(build.tampered)})


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


def _red_before(run: Run, red: ProcessResult | None) -> str:
    """Return how build.sh ends on the files from before the run, if it fails or if that is not
    known.
    """
    timed_out = red is not None and red.timed_out
    if run.settings.build_untouched != "after" or timed_out or run.is_known_green():
        return ""
    run.emit(MessageLogged("building the original files, to see whether the build was red before"))
    try:
        with run.trial() as trial:
            trial.show_original()
            before = run.build(label="untouched-build")
    except NotReady as error:
        return f"; whether it was red before the run is not known: {error.message}"
    if before.passed or before.tampered:
        return ""
    return f"; it was red before the run, too: {build_end(before)} on the original files"


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


def _build_state(red: ProcessResult | None, cannot_run: str) -> str:
    """Return how the latest build ended, or why it cannot run; an empty text before the first one."""
    return cannot_run or (build_end(red) if red else "")


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


def _failed(
    run: Run,
    attempts: int,
    unusable: ResponseRefused | None,
    red: ProcessResult | None,
    *,
    cannot_run: str,
    changed: bool,
    repeated: str,
) -> Result:
    """End the run after its last attempt.

    `cannot_run` is why the last build could not run, `changed` whether a response changed files.
    `repeated` is how the last response repeats another one.

    Raises:
        ResponseRefused: no response was applied.
    """
    after = f"after {count_of(attempts, 'attempt')}"
    same = f"; {repeated}" if repeated else ""
    state = _build_state(red, cannot_run)
    refused = unusable.message.rstrip(".") if unusable else ""
    reason = f"; {refused}" if refused else ""
    if isinstance(unusable, UnusableResponse):
        text = f"no response can be applied {after}: {refused if same else unusable.message}"
        reason = f"; the last response cannot be applied: {refused}"
        unusable = ResponseRefused(text + same, hint=unusable.hint)
    if unusable and not state:
        raise unusable
    summary = f"the build is red: {state} {after}{reason}{same}"
    before = _red_before(run, red) if changed else "; no response changed a file"
    return Result(Outcome.NOT_REACHED, summary + before)
