"""Turn a completion into changes that may be applied, or raise the reason why not."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from code_commit.plugin_api import (
    Change,
    ChangesParsed,
    ChangesRefused,
    Completion,
    Finish,
    Refusal,
    ResponseRefused,
)
from code_commit_commit.echo import reject_echo
from code_commit_commit.inputs import FRESH
from code_commit_commit.prompts import system_prompt
from code_commit_commit.replacements import deleted, path_of, written
from code_commit_commit.response import MalformedResponse, parse_changes
from code_commit_workspace import count_of, join_paths

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree
    from code_commit_workspace import RolledUp

_MOST_REASONS = 50  # refused paths that a message names; the event has all
_HINT_TOO_LONG = "raise max_tokens in the provider's config, or ask for a smaller change"
_HINT_FORMAT = "read the response in the run folder; try another model, or a smaller change"


class UnusableResponse(ResponseRefused):
    """A response that was not applied; the model may repair it."""


def read_changes(completion: Completion, run: Run, shown: Sequence[str], rolled_up: RolledUp) -> tuple[Change, ...]:
    """Parse a response and check its changes; write nothing.

    `shown` contains the parts of the prompt that the user did not write: a response must not repeat their blocks.

    Raises:
        UnusableResponse: the response is not usable, and the settings allow a repair.
        ResponseRefused: the same without a repair; or a file changed since the rollup.
    """
    try:
        changes = _parse(completion, run.tree)
        reject_echo(completion.text, changes, system_prompt("code_modification_instructions"), shown)
    except MalformedResponse as problem:
        run.emit(ChangesRefused(reason=str(problem)))
        hint = _HINT_TOO_LONG if completion.finish is Finish.LENGTH else _HINT_FORMAT
        raise _refused(str(problem), run.settings.unusable_response, hint) from None
    run.emit(ChangesParsed(written(changes), deleted(changes)))
    if refusals := run.check(changes):
        more = [f"and {count_of(len(refusals) - _MOST_REASONS, 'more path')}"] if len(refusals) > _MOST_REASONS else []
        reason = "\n".join([*map(str, refusals[:_MOST_REASONS]), *more])
        rows = tuple({"path": each.path, "rule": each.rule, "reason": each.reason} for each in refusals)
        run.emit(ChangesRefused(reason, rows))
        final = next((each for each in refusals if each.then == "stop"), None)
        then = run.settings.refused_path if final else run.settings.unusable_response
        raise _refused(reason, then, _hint(final or refusals[0]))
    _require_unchanged(changes, run, rolled_up)
    return changes


def differs(change: Change, tree: Tree) -> bool:
    """Return whether `change` would change the disk."""
    try:
        return tree.read(path_of(change)) != change.content
    except (OSError, ValueError):
        return True  # not a regular file or a valid path: the path rules refuse it


def _parse(completion: Completion, tree: Tree) -> tuple[Change, ...]:
    if completion.finish is Finish.TOOL_CALLS:
        names = ", ".join(f"`{call.name}`" for call in completion.tool_calls)
        raise MalformedResponse(f"{completion.ending} ({names}). There are no functions: reply with text only")
    if completion.finish not in {Finish.STOP, Finish.STOPPED_EARLY}:
        raise MalformedResponse(f"the response is incomplete: {completion.ending}")
    try:
        changes = parse_changes(completion.text)
    except MalformedResponse as problem:
        if completion.finish_detail:
            raise
        raise MalformedResponse(f"{problem}; {completion.ending}") from None
    if completion.finish is Finish.STOPPED_EARLY:
        raise MalformedResponse("the response is incomplete: it was stopped early")
    if not any(differs(change, tree) for change in changes):
        raise MalformedResponse("the response changes nothing: every file already has this content")
    return changes


def _refused(reason: str, then: Literal["repair", "stop"], hint: str) -> ResponseRefused:
    if then == "repair":
        return UnusableResponse(reason, hint=hint)
    return ResponseRefused(f"the response was refused: {reason}", hint=hint)


def _require_unchanged(changes: Sequence[Change], run: Run, rolled_up: RolledUp) -> None:
    if changed := rolled_up.changed(map(path_of, changes)):
        reason = "It changed after the model saw it."
        run.emit(ChangesRefused(reason, tuple({"path": path, "rule": "rollup", "reason": reason} for path in changed)))
        raise ResponseRefused(f"the response was refused: {join_paths(changed)} changed since the rollup", hint=FRESH)


def _hint(refusal: Refusal) -> str:
    """Return advice for people. `code-commit check` checks only the built-in rules, and no content."""
    if refusal.hint:
        return refusal.hint
    if refusal.rule == "plugin":
        return f"update or fix {refusal.plugin}, or disable it with --disable-plugin {refusal.plugin}"
    if refusal.plugin:
        rule = f"the rule {refusal.rule} of the plugin {refusal.plugin}"
        return f"{rule} refused: change the query, or the plugin's settings"
    if refusal.then == "repair":
        return _HINT_FORMAT
    path = shlex.quote(refusal.path)
    return f"change the query so that it needs only allowed files; `code-commit check {path}` checks a path"
