"""Named validators: `syntax_check`, and those that plugins offer by the hook `code_commit_validators`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from code_commit.plugin_api import PluginFailed, Run
from code_commit_tasks.changed_files import ChangedFiles
from code_commit_tasks.settings import TasksSettings
from code_commit_tasks.syntax import syntax_errors

_HOOK = "code_commit_validators"


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validator may look at: the step's result, and `changed`, the files that the task has changed so far."""

    run: Run
    result: str
    changed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validator:
    """A check of a step by name. `check` returns what is wrong, for the model, or "" when nothing is.

    An exception counts as something wrong; those of the host that end a run do end it.
    """

    name: str
    description: str
    check: Callable[[Validation], str]


def collect_validators(run: Run, settings: TasksSettings) -> Mapping[str, Validator]:
    """Return all validators by name. What plugins offer and cannot be used is left out and reported."""
    own = {"syntax_check": _syntax_check(settings)}
    offered: dict[str, list[tuple[str, Validator]]] = {}
    for distribution, item in run.collect(_HOOK):
        if not isinstance(item, Validator):
            _report(run, distribution, f"a validator must be a Validator, not a {type(item).__name__}")
        elif not str(item.name).strip():
            _report(run, distribution, f"{item.name!r} is no name for a validator")
        elif item.name in own:
            _report(run, distribution, f"the validator {item.name!r} is this plugin's own")
        else:
            offered.setdefault(item.name, []).append((distribution, item))
    for name, claims in offered.items():
        if len(claims) == 1:
            own[name] = claims[0][1]
            continue
        rivals = sorted({distribution for distribution, _ in claims})
        for distribution in rivals:
            _report(run, distribution, f"the validator {name!r} is claimed by {' and '.join(rivals)}")
    return own


def _syntax_check(settings: TasksSettings) -> Validator:
    def check(validation: Validation) -> str:
        return syntax_errors(validation.run, validation.changed, seconds=settings.syntax_seconds)

    return Validator("syntax_check", "The files that the task has changed have no syntax errors.", check)


def _report(run: Run, distribution: str, error: str) -> None:
    run.emit(PluginFailed(plugin=distribution, distribution=distribution, stage=_HOOK, error=error))


def validate(name: str, validators: Mapping[str, Validator], run: Run, result: str, changed: ChangedFiles) -> str:
    """Return what the validator `name` has to object to, "" for nothing; there being none of that name is much."""
    validator = validators.get(name)
    if validator is None:
        return f"There is no validator {name!r}; there are: {', '.join(sorted(validators))}."
    found: Any = validator.check(Validation(run, result, changed.paths()))  # a plugin's types are a promise, no more
    return found if isinstance(found, str) else f"The validator {name} is broken: it gave {type(found).__name__}."
