"""The commit workflow: ask, check, apply, build, repair."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    Change,
    ChangesParsed,
    ChangesRefused,
    Completion,
    Finish,
    Message,
    MessageLogged,
    NotReady,
    Outcome,
    ProcessResult,
    Refusal,
    Request,
    ResponseRefused,
    Result,
    Text,
    decode_text,
    read_text,
)
from code_commit_commit.echo import reject_echo
from code_commit_commit.freshness import FRESH, RolledUp, join_paths
from code_commit_commit.prompts import Context, build_end, build_failure, initial_prompt, repair_prompt, system_prompt
from code_commit_commit.response import MalformedResponse, parse_changes

if TYPE_CHECKING:
    from code_commit.plugin_api import Run

QUERY = "agent-config/query.txt"
CODEBASE = "agent-config/codeRollup.txt"

_HINT_TOO_LONG = "raise max_tokens in the provider's config, or ask for a smaller change"
_HINT_FORMAT = "read the response in the run folder; try another model, or a smaller change"
_HINT_PATHS = "change the query so that it needs only allowed files; `code-commit check PATH` checks a path"


def commit(run: Run) -> Result:
    """Change the code as the query describes until `build.sh` passes, with up to `repairs` repairs.

    Raises:
        NotReady: the query, the rollup or build.sh is missing, or files changed since the rollup.
        ResponseRefused: a response changes a path that is not allowed, or a file that changed in the meantime; nothing
            was written. Or no repair is left, and the last response could not be applied.
    """
    context = read_context(run)
    rolled_up = compare_with_rollup(run, context)
    model = run.model()
    run.keep("input-query.txt", context.query)  # `code-commit replay` reads both back
    run.keep("input-codeRollup.txt", context.codebase)
    prompt = initial_prompt(context)
    replaced: dict[str, Change] = {}
    failed = _Failure("", "")
    attempts = 1 + run.options.repairs
    for number in range(1, attempts + 1):
        with run.span("attempt", number=number):
            completion = model.complete(_request(prompt), label="initial-query" if number == 1 else "repair-query")
            parsed = read_response(completion, run, shown=(context.codebase, failed.prompt_text), rolled_up=rolled_up)
            if isinstance(parsed, _Failure):
                failed = parsed
            elif run.options.dry_run:
                run.say(run.diff(parsed))
                return Result(
                    Outcome.REACHED,
                    f"{_count(parsed)} would change; nothing was written",
                    _paths(parsed),
                )
            else:
                run.apply(parsed)
                replaced.update({_file_of(change): change for change in parsed})
                build = run.build()
                if build.passed:
                    changes = [replaced[path] for path in sorted(replaced)]
                    return Result(Outcome.REACHED, f"{_count(changes)} changed, the build passes", _paths(changes))
                if build.tampered:
                    return _tampered(build)
                failed = _Failure(build_failure(build, run.settings.build_output_limit), build_end(build))
                rolled_up.renew()
        prompt = repair_prompt(context, failed.prompt_text, replaced.values(), run.token)
    if failed.hint:
        text = f"attempt {attempts} of {attempts} returned no response that can be applied: {failed.reason}"
        raise ResponseRefused(text, hint=failed.hint)
    after = f"after {attempts} attempt{'s' * (attempts > 1)}"
    return Result(Outcome.NOT_REACHED, f"the build is red: {failed.reason} {after}")


def read_context(run: Run) -> Context:
    """Read the query and the code rollup unchanged.

    Raises:
        NotReady: one of them is missing, empty, or not UTF-8; or build.sh is missing.
    """
    _require_build(run)
    if run.options.query is not None:
        query = decode_text(os.fsencode(run.options.query), "--query")  # the bytes as typed, in any locale
    elif run.options.query_file is not None:
        name = run.options.query_file
        query = decode_text(_read_query_file(name), "standard input" if name == "-" else name)
    else:
        query = _required(run, QUERY, "describe the change in it, or use --query")
    if not query.strip():
        raise NotReady("the query is empty", hint="describe the change")
    collect = "collect the code with codeRollup.sh or `code-commit rollup`"
    codebase = _required(run, CODEBASE, collect)
    if not codebase.strip():
        raise NotReady(f"{CODEBASE} is empty", hint=collect)
    return Context(query, codebase)


def _require_build(run: Run) -> None:
    try:
        if run.tree.read("build.sh") is not None:
            return
    except OSError as error:
        what = "a link" if error.errno == errno.ELOOP else "not a readable regular file"
        raise NotReady(
            f"build.sh is {what}", hint="replace it with a script that builds and tests the project"
        ) from error
    raise NotReady(
        "there is no build.sh here", hint="write one that exits with 0 if the project builds and its tests pass"
    )


def compare_with_rollup(run: Run, context: Context) -> RolledUp:
    """Compare the files with the rollup's manifest.

    Raises:
        NotReady: files changed since the rollup, so the model would see old code.
    """
    if run.settings.changed_since_rollup == "ignore":
        return RolledUp(run.tree, {})
    rolled_up = RolledUp.of(run.tree, context.codebase)
    changed = rolled_up.changed()
    if changed and run.settings.changed_since_rollup == "stop":
        raise NotReady(f"changed since the rollup: {join_paths(changed)}", hint=FRESH)
    if changed:
        run.emit(MessageLogged(f"changed since the rollup: {join_paths(changed)}; {FRESH}", level="warning"))
    return rolled_up


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why an attempt failed: `prompt_text` for the model, `reason` for the summary of the run.

    `hint` is advice for people about a response that could not be applied; a red build has none.
    """

    prompt_text: str
    reason: str
    hint: str = ""


def read_response(
    completion: Completion, run: Run, shown: Sequence[str] = (), rolled_up: RolledUp | None = None
) -> tuple[Change, ...] | _Failure:
    """Parse a response and check its changes; write nothing. Return the changes, or a failure to repair.

    `shown` contains the parts of the prompt that the user did not write: a response must not repeat their blocks.

    Raises:
        ResponseRefused: a path is not allowed, a file changed since the rollup, or the settings allow no repair.
    """
    try:
        changes = _parse(completion, run)
        reject_echo(completion.text, changes, system_prompt("code_modification_instructions"), shown)
    except MalformedResponse as problem:
        run.emit(ChangesRefused(reason=str(problem)))
        hint = _HINT_TOO_LONG if completion.finish is Finish.LENGTH else _HINT_FORMAT
        return _repair_or_stop(str(problem), run.settings.unusable_response, hint)
    run.emit(ChangesParsed(_written(changes), _deleted(changes)))
    refusals = run.check(changes)
    if not refusals:
        if rolled_up is not None:
            _require_unchanged(changes, run, rolled_up)
        return changes
    reason = "\n".join(map(str, refusals))
    rows = tuple({"path": each.path, "rule": each.rule, "reason": each.reason} for each in refusals)
    run.emit(ChangesRefused(reason, rows))
    final = any(refusal.then == "stop" for refusal in refusals)
    return _repair_or_stop(reason, run.settings.refused_path if final else "repair", _hint(refusals))


def _require_unchanged(changes: Sequence[Change], run: Run, rolled_up: RolledUp) -> None:
    changed = rolled_up.changed([_file_of(change) for change in changes])
    if changed:
        reason = "It changed after the model saw it."
        run.emit(ChangesRefused(reason, tuple({"path": path, "rule": "rollup", "reason": reason} for path in changed)))
        raise ResponseRefused(f"nothing was written: {join_paths(changed)} changed since the rollup", hint=FRESH)


def _parse(completion: Completion, run: Run) -> tuple[Change, ...]:
    if completion.finish is not Finish.STOP:
        raise MalformedResponse(f"the response is incomplete: {completion.ending}")
    changes = parse_changes(completion.text)
    if all(_is_on_disk(change, run) for change in changes):
        raise MalformedResponse("the response changes nothing: every file already has this content")
    return changes


def _file_of(change: Change) -> str:
    """Return the path without `./`: `./a` and `a` are the same file."""
    return change.path.removeprefix("./")


def _is_on_disk(change: Change, run: Run) -> bool:
    try:
        return run.tree.read(_file_of(change)) == change.content
    except (OSError, ValueError):
        return False  # not a regular file or a valid path: the path rules refuse it


def _repair_or_stop(reason: str, then: str, hint: str) -> _Failure:
    if then == "stop":
        raise ResponseRefused(f"the response was refused, nothing was applied: {reason}", hint=hint)
    text = "The last response could not be applied, and build.sh was not run. The reason:\n" + reason
    return _Failure(text, reason, hint)


def _tampered(build: ProcessResult) -> Result:
    """End the run after a build that altered its own checks: its result is not valid."""
    paths = ", ".join(build.tampered)
    return Result(Outcome.NOT_REACHED, f"the build altered its own checks: {paths}", {"tampered": list(build.tampered)})


def _hint(refusals: Sequence[Refusal]) -> str:
    """Return a hint about `refusals`; `code-commit check` checks only the built-in rules."""
    refusal = refusals[0]
    if not all(each.plugin for each in refusals):
        return _HINT_PATHS
    if refusal.rule == "plugin":
        return f"update or fix {refusal.plugin}, or disable it with --disable-plugin {refusal.plugin}"
    return f"the rule {refusal.rule} of the plugin {refusal.plugin} refused: change the query, or the plugin's settings"


def _request(prompt: str) -> Request:
    return Request(messages=(Message("user", (Text(prompt),)),))


def _required(run: Run, path: str, hint: str) -> str:
    text = read_text(run.tree, path)
    if text is None:
        raise NotReady(f"{path} is missing", hint=hint)
    return text


def _read_query_file(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise NotReady(f"cannot read the query file {name}: {error.strerror}") from error


def _written(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(change.path for change in changes if change.content is not None)


def _deleted(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(change.path for change in changes if change.content is None)


def _paths(changes: Sequence[Change]) -> dict[str, list[str]]:
    return {"written": list(_written(changes)), "deleted": list(_deleted(changes))}


def _count(changes: Sequence[Change]) -> str:
    return f"{len(changes)} file{'s' * (len(changes) != 1)}"
