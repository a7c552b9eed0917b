"""The host's own settings: names, types, defaults and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from code_commit.config.sources import Name
from code_commit.plugin_api.errors import NotReady, did_you_mean


def _not_a_switch(value: object) -> object:
    """Reject `true`, which pydantic would take for 1."""
    if isinstance(value, bool):
        raise ValueError("should be a number")  # noqa: TRY004 - pydantic reports a ValueError, not a TypeError
    return value


Seconds = Annotated[float, BeforeValidator(_not_a_switch), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_not_a_switch), Field(ge=0)]
Dollars = Annotated[Decimal, BeforeValidator(_not_a_switch), Field(gt=0, allow_inf_nan=False)]


class BuildSettings(BaseModel):
    """`[build]`: how `build.sh` is run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_seconds: Seconds = Field(
        default=3600, description="How long a build may take; then its whole process tree goes."
    )
    output_limit: Count = Field(
        default=256 * 1024,
        description="Bytes of stdout, and of stderr, of a process that a workflow gets; beyond it head and tail.",
    )


class HttpSettings(BaseModel):
    """`[http]`: how services are called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_seconds: Seconds = Field(default=600, description="How long a service may stay silent while it answers.")
    deadline_seconds: Seconds = Field(default=1800, description="How long one call may take, all its tries together.")
    retries: Count = Field(default=5, description="How often a try that failed in a way that may pass is repeated.")


class HostSettings(BaseSettings):
    """The host's settings. Providers and plugins validate their own parts of `[providers]` and `[plugins]`."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True)

    model: str = Field(
        default="gemini-2.5-pro", min_length=1, description="The model that is asked where no role names a config."
    )
    max_cost: Dollars | None = Field(default=None, description="USD that the model calls of one run may cost.")
    on_failure: Literal["keep", "restore"] = Field(
        default="keep",
        description="Whether the last attempt stays when the goal was not reached, or the tree is put back.",
    )
    sandbox: Literal["auto", "require", "off"] = Field(
        default="auto", description="Isolation of builds and commands by bubblewrap: where it works, always, or never."
    )
    network: bool = Field(default=True, description="Whether builds and commands in the sandbox may use the network.")
    after_run_timeout_seconds: Seconds = Field(
        default=120, description="How long what a plugin does after a run may take."
    )
    build: BuildSettings = Field(default_factory=BuildSettings, description="How build.sh is run.")
    http: HttpSettings = Field(default_factory=HttpSettings, description="How services are called.")
    providers: dict[str, Any] = Field(
        default_factory=dict, description="Roles, and the named configs of each provider."
    )
    plugins: dict[str, dict[str, Any]] = Field(default_factory=dict, description="A section for each plugin.")


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
