"""Turn a completion into changes that may be applied, or raise the reason why not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from code_commit.plugin_api import (
    Change,
    ChangesParsed,
    ChangesRefused,
    Completion,
    Finish,
    Json,
    MessageLogged,
    Refusal,
    ResponseRefused,
    count_of,
    shorten,
)
from code_commit_commit.echo import reject_echo
from code_commit_commit.hooks import MalformedResponse
from code_commit_commit.prompts import system_prompt
from code_commit_commit.recorded_tree import RecordedTree
from code_commit_commit.replacements import deleted, differs, written
from code_commit_commit.response import NoBlock, TooManyFiles
from code_commit_commit.targets import mistaken_targets
from code_commit_commit.unseen import Unseen, find_changed, find_unseen

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree
    from code_commit_commit.formats import ChosenFormat
    from code_commit_commit.kept_form import KeptForms
    from code_commit_commit.seen_files import SeenFiles

_MOST_REASONS = 50  # refused paths that a message names; the event has all
_MOST_LINES = 20  # of a response in words
_LONGEST_LINE = 400  # characters of one
_HINT_TOO_LONG = "raise max_tokens in the provider's config, or ask for a smaller change"
_HINT_TOO_MANY = "ask for a smaller change, or raise max_files in the configuration"
_HINT_WORDS = (
    "answer the model in the query, for example with --query or --edit, or try another model"
)
_HINT_UNSEEN = (
    'add the file with `code-commit rollup`, or set unseen_file = "allow" in [plugins.commit]'
)
_HINT_BLIND = (
    "change the query so that it does not need this file, "
    'or set unseen_file = "allow" in [plugins.commit] to let responses replace it unseen'
)
_HINT_FORMAT = "read the response in the run folder; try another model, or a smaller change"


class UnusableResponse(ResponseRefused):
    """A response that was not applied; the model may repair it."""


def read_changes(
    completion: Completion,
    run: Run,
    response_format: ChosenFormat,
    shown: Sequence[str],
    seen: SeenFiles,
    forms: KeptForms,
) -> tuple[tuple[Change, ...], Mapping[str, bytes | None]]:
    """Parse a response and check its changes; write nothing.

    Changes that are on disk already need no check. Also return the files as the model saw them.

    `shown` contains the parts of the prompt that the user did not write: a response must not repeat
    their blocks. `seen` learns which files are in the next prompt because the response wanted to
    change them blind; `forms` learns which files the response deletes.

    Raises:
        UnusableResponse: the response is not usable, and the settings allow a repair.
        ResponseRefused: the same without a repair; or the code of the format failed.
    """
    tree = RecordedTree(run.tree)
    try:
        changes = _parse(completion, response_format, tree, run.max_files)
        reject_echo(completion.text, system_prompt("code_modification_instructions"), shown)
    except MalformedResponse as problem:
        _require_allowed_reads(tuple(tree.unchanged()), run, seen)  # the message may quote them
        raise _malformed(problem, completion, run) from None
    changes = forms.keep(changes)
    run.emit(ChangesParsed(written(changes), deleted(changes)))
    if mistaken := tuple(mistaken_targets(changes, run.tree)):
        raise _refused(mistaken, run)
    different = [change for change in changes if differs(change, run.tree)]
    if not different:
        return changes, {}
    refusals = run.check(changes)
    if any(refusal.then == "stop" for refusal in refusals):
        raise _refused(refusals, run)
    allowed = run.settings.unseen_file == "allow"
    _require_seen(different, run, seen, refusals, allowed=allowed)
    paths = [change.path for change in different if change.path not in tree.files]
    bases, stale = seen.bases(paths)
    if stale:
        raise changed_by_somebody(stale, run, seen)
    return changes, bases | tree.files


def _require_allowed_reads(changes: Sequence[Change], run: Run, seen: SeenFiles) -> None:
    """Check the files that the format has read as if the response replaced each by itself.

    Raises:
        UnusableResponse, ResponseRefused: the response may not change one of them, or the model has
            not seen it, also if the settings allow to replace such files.
    """
    if not changes:
        return
    if mistaken := tuple(mistaken_targets(changes, run.tree)):
        raise _refused(mistaken, run)
    refusals = run.check(changes)
    if any(refusal.then == "stop" for refusal in refusals):
        raise _refused(refusals, run)
    _require_seen(changes, run, seen, refusals, allowed=False)


def _parse(
    completion: Completion,
    response_format: ChosenFormat,
    tree: Tree,
    max_files: int,
) -> tuple[Change, ...]:
    if completion.finish is Finish.TOOL_CALLS:
        names = ", ".join(f"`{call.name}`" for call in completion.tool_calls)
        raise MalformedResponse(
            f"{completion.ending} ({names}). There are no functions: reply with text only"
        )
    if completion.finish not in {Finish.STOP, Finish.STOPPED_EARLY}:
        raise MalformedResponse(f"the response is incomplete: {completion.ending}")
    try:
        changes = response_format.parse(completion.text, tree, max_files)
    except MalformedResponse as problem:
        if not completion.finish_detail:
            problem.args = (f"{problem}; {completion.ending}",)
        raise
    if completion.finish is Finish.STOPPED_EARLY:
        raise MalformedResponse("the response is incomplete: it was stopped early")
    return changes


@contextmanager
def malformed_is_refused(completion: Completion, run: Run) -> Iterator[None]:
    """Turn a `MalformedResponse` of the block into the refusal of the response, and log it.

    Raises:
        UnusableResponse: the settings allow a repair.
        ResponseRefused: they do not.
    """
    try:
        yield
    except MalformedResponse as problem:
        raise _malformed(problem, completion, run) from None


def _malformed(problem: MalformedResponse, completion: Completion, run: Run) -> ResponseRefused:
    run.emit(ChangesRefused(reason=str(problem)))
    hint = _HINT_TOO_LONG if completion.finish is Finish.LENGTH else _HINT_FORMAT
    if isinstance(problem, TooManyFiles):
        hint = _HINT_TOO_MANY
    if isinstance(problem, NoBlock) and (words := shown_words(completion.text)):
        run.emit(MessageLogged(f"the model answered in words, and changed nothing:\n{words}"))
        hint = _HINT_WORDS
    return _unusable(str(problem), run.settings.unusable_response, hint)


def shown_words(text: str) -> str:
    """Return the first lines of a response without blocks, for people."""
    lines = text.strip().splitlines()
    shown = [shorten(line, _LONGEST_LINE) for line in lines[:_MOST_LINES]]
    if left_out := len(lines) - len(shown):
        shown.append(
            f"... and {count_of(left_out, 'more line')}, in the response in the run folder"
        )
    return "\n".join(shown)


def _refused(refusals: Sequence[Refusal], run: Run) -> ResponseRefused:
    """Log the refusals of a response, and return the error."""
    reason = _logged(refusals, run)
    final = next((refusal for refusal in refusals if refusal.then == "stop"), None)
    then = run.settings.refused_path if final else run.settings.unusable_response
    return _unusable(reason, then, _hint(final or refusals[0]))


def _logged(refusals: Sequence[Refusal], run: Run) -> str:
    """Log `refusals`, and return them as one text."""
    lines = [str(refusal) for refusal in refusals[:_MOST_REASONS]]
    if left_out := len(refusals) - len(lines):
        lines.append(f"and {count_of(left_out, 'more path')}")
    reason = "\n".join(lines)
    rows: list[Json] = [
        {"path": refusal.path, "rule": refusal.rule, "reason": refusal.reason}
        for refusal in refusals
    ]
    run.emit(ChangesRefused(reason, refusals=tuple(rows)))
    return reason


def _unusable(reason: str, then: Literal["repair", "stop"], hint: str) -> ResponseRefused:
    if then == "repair":
        return UnusableResponse(reason, hint=hint)
    return ResponseRefused(f"the response was refused: {reason}", hint=hint)


def changed_by_somebody(paths: Sequence[str], run: Run, seen: SeenFiles) -> ResponseRefused:
    """Log that somebody changed the files at `paths` since the model saw them; return the error.

    The next prompt has their texts.
    """
    changed = find_changed(paths, run, seen)
    error = _sent_back(changed, changed.refusals, run, seen)
    error.hint = "run again: the model then sees the files as they are now"
    return error


def _require_seen(
    changes: Sequence[Change],
    run: Run,
    seen: SeenFiles,
    refusals: Sequence[Refusal],
    *,
    allowed: bool,
) -> None:
    """Send back changes of files that the model has not seen, with their texts.

    Those with other `refusals` are sent back, too.

    Raises:
        UnusableResponse, ResponseRefused: there are `refusals`, or such files and they are not
            `allowed`.
    """
    unseen = Unseen((), {}) if allowed else find_unseen(changes, run, seen)
    if not unseen.refusals:
        if refusals:
            raise _refused(refusals, run)
        return
    # Both at once: the next response can answer both.
    raise _sent_back(unseen, (*refusals, *unseen.refusals), run, seen)


def _sent_back(
    unseen: Unseen, refusals: Sequence[Refusal], run: Run, seen: SeenFiles
) -> ResponseRefused:
    """Log the refusals of files that the model does not know, and return the error."""
    reason = _logged(refusals, run)
    then, hint = run.settings.unusable_response, _HINT_UNSEEN
    if any(refusal.then == "stop" for refusal in unseen.refusals):
        then, hint = run.settings.refused_path, _HINT_BLIND
    if run.settings.unseen_file == "stop":
        then = "stop"
    seen.show(unseen.texts)
    return _unusable(reason, then, hint)


def _hint(refusal: Refusal) -> str:
    """Return advice for people.

    `code-commit check` checks only the built-in rules, and no content.
    """
    if refusal.hint:
        return refusal.hint
    if refusal.rule == "plugin":
        return (
            f"update or fix {refusal.plugin}, or disable it with --disable-plugin {refusal.plugin}"
        )
    if refusal.plugin:
        rule = f"the rule {refusal.rule} of the plugin {refusal.plugin}"
        return f"{rule} refused: change the query, or the plugin's settings"
    if refusal.then == "repair":
        return _HINT_FORMAT
    path = shlex.quote(refusal.path)
    return (
        "change the query so that it needs only allowed files; "
        f"`code-commit check {path}` checks a path"
    )
