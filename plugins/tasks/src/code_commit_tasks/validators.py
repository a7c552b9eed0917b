"""Named validators: `syntax_check`, and those of plugins from the hook `code_commit_validators`."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from code_commit.plugin_api import STOP, CodeCommitError, PluginFailed, Run
from code_commit_tasks.settings import TasksSettings
from code_commit_tasks.syntax import syntax_errors

SYNTAX_CHECK = "syntax_check"
_HOOK = "code_commit_validators"


@dataclass(frozen=True, slots=True)
class Validation:
    """The input of a validator. `changed` are the files that the task changed so far."""

    run: Run
    result: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validator:
    """A named check of a step. `check` returns the problem, for the model, or "".

    An exception counts as a problem, except for the host's exceptions that end a run.
    """

    name: str
    description: str
    check: Callable[[Validation], str]


def collect_validators(run: Run, settings: TasksSettings) -> Mapping[str, Validator]:
    """Return all validators by name. Unusable ones of plugins are left out and reported."""
    validators = {SYNTAX_CHECK: _syntax_check(settings)}
    offers: dict[str, list[tuple[str, Validator]]] = {}
    for distribution, validator in run.collect(_HOOK):
        if problem := _problem(validator):
            _report(run, distribution, problem)
        else:
            offers.setdefault(validator.name, []).append((distribution, validator))
    for name, claims in offers.items():
        if len(claims) == 1:
            [(_, validator)] = claims
            validators[name] = validator
            continue
        rivals = sorted({distribution for distribution, _ in claims})
        error = f"the validator {name!r} is claimed by {' and '.join(rivals)}"
        for distribution in rivals:
            _report(run, distribution, error)
    return validators


def _problem(validator: Any) -> str:
    """Return why an object of a plugin is not a usable validator, or ""."""
    if not isinstance(validator, Validator):
        return f"a validator must be a Validator, not a {type(validator).__name__}"
    name: Any = validator.name  # a plugin's types are unchecked
    if not isinstance(name, str) or not name.strip():
        return f"{name!r} is not a valid name of a validator"
    if name == SYNTAX_CHECK:
        return f"the validator name {name!r} belongs to code-commit-tasks"
    return ""


def _syntax_check(settings: TasksSettings) -> Validator:
    def check(validation: Validation) -> str:
        return syntax_errors(validation.run, validation.changed, seconds=settings.syntax_seconds)

    return Validator(
        SYNTAX_CHECK, "The files that the task has changed have no syntax errors.", check
    )


def _report(run: Run, distribution: str, error: str) -> None:
    run.emit(PluginFailed(plugin=distribution, distribution=distribution, stage=_HOOK, error=error))


def validation_problem(validator: Validator, validation: Validation, *, seconds: float) -> str:
    """Return the problem that `validator` finds within `seconds`, or "". An exception is a problem.

    The check runs in a thread that is abandoned after this time, because a plugin cannot be
    stopped.

    Raises:
        CodeCommitError: the validator raised it.
    """
    if validator.name == SYNTAX_CHECK:
        return validator.check(validation)  # it has its own time limit, and Ctrl-C ends its process
    answers: SimpleQueue[object] = SimpleQueue()

    def check() -> None:
        try:
            answers.put(validator.check(validation))
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, even SystemExit
            answers.put(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(check,), daemon=True)
    thread.start()
    try:
        answer = STOP.get(answers, seconds)
    except Empty:
        return f"The validator {validator.name} took longer than {seconds:g} s."
    match answer:
        case CodeCommitError() as error:
            raise error
        case BaseException() as error:
            words = f"The validator {validator.name} failed with {type(error).__name__}: {error}"
        case str(words):
            pass
        case _:
            kind = type(answer).__name__
            words = f"The validator {validator.name} is broken: it returned {kind}."
    return words.encode("utf-8", "replace").decode()
