"""The commit workflow: ask, check, apply, build, repair (seeds 001 and 002)."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
    Run,
    Text,
    decode_text,
    read_text,
)
from code_commit_commit.echo import reject_echo
from code_commit_commit.freshness import FRESH, RolledUp, named
from code_commit_commit.prompts import Context, build_failure, initial_prompt, repair_prompt, system_prompt
from code_commit_commit.response import MalformedResponse, parse_changes

QUERY = "agent-config/query.txt"
CODEBASE = "agent-config/codeRollup.txt"

_SAY_LESS = "raise max_tokens in the provider's config, or ask for less at once"
_ASK_ANOTHER = "read the response in the run folder; another model, or a smaller change, may keep to the format"
_ASK_WITHIN_BOUNDS = "word the query so that it needs allowed files alone; `code-commit check PATH` tells which are"


def commit(run: Run) -> Result:
    """Change the code as the query asks, and let `build.sh` decide; repair up to `repairs` times.

    Raises:
        NotReady: no query or rollup, no build.sh, or a rollup that files have been changed since.
        ResponseRefused: a response names a path that is not allowed, or a file that somebody changed meanwhile;
            nothing of it was written. Or the repairs are spent, and the last response could not be applied.
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
            judged = judge(completion, run, shown=(context.codebase, failed.for_the_model), rolled_up=rolled_up)
            if isinstance(judged, _Failure):
                failed = judged
            elif run.options.dry_run:
                run.say(run.diff(judged))
                return Result(Outcome.REACHED, f"{_count(judged)} would change; nothing was written", _paths(judged))
            else:
                run.apply(judged)
                replaced.update({_file_of(change): change for change in judged})
                build = run.build()
                if build.passed:
                    changes = [replaced[path] for path in sorted(replaced)]
                    return Result(Outcome.REACHED, f"{_count(changes)} changed, the build passes", _paths(changes))
                if build.tampered:
                    return _tampered(build)
                failed = _red(build, run)
                rolled_up.renew()
        prompt = repair_prompt(context, failed.for_the_model, replaced.values(), run.token)
    if failed.hint:
        told = f"attempt {attempts} of {attempts} gave no response that can be applied: {failed.reason}"
        raise ResponseRefused(told, hint=failed.hint)
    after = f"after {attempts} attempt{'s' * (attempts > 1)}"
    return Result(Outcome.NOT_REACHED, f"the build is red: {failed.reason} {after}")


def read_context(run: Run) -> Context:
    """Read the query and the code rollup, as the supervisor left them.

    Raises:
        NotReady: one is missing, empty, or not UTF-8; or build.sh is missing.
    """
    _require_build(run)
    if run.options.query is not None:
        query = decode_text(os.fsencode(run.options.query), "--query")  # as typed, whatever the locale made of it
    elif run.options.query_file is not None:
        name = run.options.query_file
        query = decode_text(_read_query_file(name), "standard input" if name == "-" else name)
    else:
        query = _required(run, QUERY, "write into it what is to be changed, or use --query")
    if not query.strip():
        raise NotReady("the query is empty", hint="say what is to be changed")
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
        what = "a link" if error.errno == errno.ELOOP else "no regular file that can be read"
        raise NotReady(f"build.sh is {what}", hint="put a file there that judges the project") from error
    raise NotReady("there is no build.sh here", hint="write one that exits with 0 when the project is sound")


def compare_with_rollup(run: Run, context: Context) -> RolledUp:
    """Compare the files with the rollup's manifest.

    Raises:
        NotReady: some were changed since; a model that is shown yesterday's code is not worth its price.
    """
    if run.settings.changed_since_rollup == "ignore":
        return RolledUp(run.tree, {})
    rolled_up = RolledUp.of(run.tree, context.codebase)
    changed = rolled_up.changed()
    if changed and run.settings.changed_since_rollup == "stop":
        raise NotReady(f"changed since the rollup was made: {named(changed)}", hint=FRESH)
    if changed:
        run.emit(MessageLogged(f"changed since the rollup was made: {named(changed)}; {FRESH}", level="warning"))
    return rolled_up


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why an attempt did not stand: in words for the model, and in case it was the last one.

    A `hint` says what a person can do about a response that could not be applied; a red build has none.
    """

    for_the_model: str
    reason: str
    hint: str = ""


def judge(
    completion: Completion, run: Run, shown: Sequence[str] = (), rolled_up: RolledUp | None = None
) -> tuple[Change, ...] | _Failure:
    """Read the changes out of a response and have every path judged; nothing is written here.

    `shown` is what the prompt held of others than the person: blocks that stand there are not an answer.

    Returns the changes, or why the response is worth a repair.

    Raises:
        ResponseRefused: a path is not allowed, a file was changed by somebody else since the model was shown it, or
            the settings send no response back.
    """
    try:
        changes = _changes_of(completion, run)
        reject_echo(completion.text, changes, system_prompt("code_modification_instructions"), shown)
    except MalformedResponse as problem:
        run.emit(ChangesRefused(reason=str(problem)))
        hint = _SAY_LESS if completion.finish is Finish.LENGTH else _ASK_ANOTHER
        return _sent_back(str(problem), run.settings.unusable_response, hint)
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
    return _sent_back(reason, run.settings.refused_path if final else "repair", _hint(refusals))


def _require_unchanged(changes: Sequence[Change], run: Run, rolled_up: RolledUp) -> None:
    changed = rolled_up.changed([_file_of(change) for change in changes])
    if changed:
        reason = "It was changed since the model was shown it."
        run.emit(ChangesRefused(reason, tuple({"path": path, "rule": "rollup", "reason": reason} for path in changed)))
        raise ResponseRefused(f"nothing was written: somebody else changed {named(changed)} meanwhile", hint=FRESH)


def _changes_of(completion: Completion, run: Run) -> tuple[Change, ...]:
    if completion.finish is not Finish.STOP:
        raise MalformedResponse(f"the response is not finished: {_ended(completion)}")
    changes = parse_changes(completion.text)
    if all(_is_on_disk(change, run) for change in changes):
        raise MalformedResponse("the response changes nothing: every file is already as it asks for")
    return changes


def _file_of(change: Change) -> str:
    """The file that is meant: `./a` and `a` are one."""
    return change.path.removeprefix("./")


def _is_on_disk(change: Change, run: Run) -> bool:
    try:
        return run.tree.read(_file_of(change)) == change.content
    except (OSError, ValueError):
        return False  # not a plain file or path: the guard has a word for it


def _ended(completion: Completion) -> str:
    word = completion.finish_detail
    return f"it ended with `{word}`" if word else "the service did not tell why it ended"


def _sent_back(reason: str, then: str, hint: str) -> _Failure:
    if then == "stop":
        raise ResponseRefused(f"the response was refused, nothing of it was applied: {reason}", hint=hint)
    told = "The last response could not be applied, and build.sh was not run. The reason:\n" + reason
    return _Failure(told, reason, hint)


def _red(build: ProcessResult, run: Run) -> _Failure:
    how = "ran into its time limit" if build.timed_out else f"ended with exit code {build.exit_code}"
    return _Failure(
        build_failure(build, run.settings.build_output_limit),
        f"build.sh {how}",
    )


def _tampered(build: ProcessResult) -> Result:
    """A build that altered what judges it cannot judge again: the run ends."""
    named = ", ".join(build.tampered)
    return Result(Outcome.NOT_REACHED, f"the build altered what judges it: {named}", {"tampered": list(build.tampered)})


def _hint(refusals: Sequence[Refusal]) -> str:
    """Return what a person can do about `refusals`; `code-commit check` knows the built-in rules only."""
    refusal = refusals[0]
    if not all(each.plugin for each in refusals):
        return _ASK_WITHIN_BOUNDS
    if refusal.rule == "plugin":
        return f"update or fix {refusal.plugin}, or leave it out with --disable-plugin {refusal.plugin}"
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
        raise NotReady(f"the query file {name} cannot be read: {error.strerror}") from error


def _written(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(change.path for change in changes if change.content is not None)


def _deleted(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(change.path for change in changes if change.content is None)


def _paths(changes: Sequence[Change]) -> dict[str, list[str]]:
    return {"written": list(_written(changes)), "deleted": list(_deleted(changes))}


def _count(changes: Sequence[Change]) -> str:
    return f"{len(changes)} file{'s' * (len(changes) != 1)}"
