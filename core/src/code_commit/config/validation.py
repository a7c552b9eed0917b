"""Validation with pydantic models. Errors say what is expected and never show a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from code_commit.config.sources import Name
from code_commit.plugin_api.errors import NotReady
from code_commit.spelling import did_you_mean

Model = TypeVar("Model", bound=BaseModel)


def validated(
    model: type[Model],
    section: Mapping[str, Any],
    where: str,
    *,
    origin: Callable[[Name], str | None] | None = None,
) -> Model:
    """Return `section` as a `model`. Unknown names are errors, unless the model takes any (`extra="allow"`).

    `where` names the section in errors. `origin` returns the place where a name in it was set.

    Raises:
        NotReady: a name is unknown or missing, or a value has the wrong type.
    """

    def place(name: Name) -> str:
        origin_of_name = origin(name) if origin else None
        return f"{origin_of_name}: {where}" if origin_of_name else where

    problems = [f"{place(name)}: {text}" for name, text in unknown_names(model, section)]
    if not problems:
        try:
            return model.model_validate(dict(section))
        except ValidationError as error:
            problems = [f"{place(name)}: {text}" for name, text in explained(error, model)]
    raise NotReady("; ".join(problems))


def unknown_names(model: type[BaseModel], section: Mapping[str, Any], above: Name = ()) -> Iterator[tuple[Name, str]]:
    """Yield each name in `section` that is no field of `model`, with an error text."""
    fields = {alias: field for name, field in model.model_fields.items() for alias in (name, field.alias) if alias}
    for name, value in section.items():
        below = fields[name].annotation if name in fields else None
        if name not in fields and model.model_config.get("extra") != "allow":
            yield (*above, name), _unknown((*above, name), fields)
        elif isinstance(value, Mapping) and isinstance(below, type) and issubclass(below, BaseModel):
            yield from unknown_names(below, value, (*above, name))


def explained(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Name, str]]:
    """Yield the name and an error text for each problem."""
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        name = tuple(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            yield name, _unknown(name, _fields_at(model, name[:-1]))
            continue
        text = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
        text = text.replace("a valid dictionary", "a table")
        yield name, f"{'.'.join(name)} {text}" if text.startswith("should ") else f"{'.'.join(name)}: {text}"


def about_a_flag(name: Name, text: str) -> str:
    """Reword an error text of `explained` for the command line: a flag has the name of its setting's last part."""
    flag = f"--{name[-1].replace('_', '-')}" if name else ""
    return (flag + text.removeprefix(".".join(name))).removeprefix(": ")


def _unknown(name: Name, known: Mapping[str, object]) -> str:
    return f"there is no setting {'.'.join(name)}" + did_you_mean(name[-1], known)


def _fields_at(model: type[BaseModel], name: Name) -> Mapping[str, object]:
    """Return the fields of the model at `name` below `model`, or nothing if there is no model."""
    here: object = model
    for part in name:
        field = here.model_fields.get(part) if isinstance(here, type) and issubclass(here, BaseModel) else None
        here = field.annotation if field else None
    return here.model_fields if isinstance(here, type) and issubclass(here, BaseModel) else {}
