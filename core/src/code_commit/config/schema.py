"""The host's own settings: names, types, defaults and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from code_commit.config.sources import FLAG, VARIABLE, Name
from code_commit.imports import import_without_plugins
from code_commit.plugin_api.errors import NotReady
from code_commit_workspace import StoreLimits
from code_commit_workspace.words import closest

# Here, because every process that defines models imports this module first.
with import_without_plugins():
    from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError


def _not_a_switch(value: object) -> object:
    """Reject `true`, which pydantic would take for 1."""
    if isinstance(value, bool):
        # pydantic reports a ValueError, not a TypeError.
        raise ValueError("should be a number")  # noqa: TRY004
    return value


Seconds = Annotated[float, BeforeValidator(_not_a_switch), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_not_a_switch), Field(ge=0)]
Stream = Literal["auto", "always", "never"]
Dollars = Annotated[Decimal, BeforeValidator(_not_a_switch), Field(gt=0, allow_inf_nan=False)]


_LIMITS = StoreLimits()


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BuildSettings(_Table):
    """`[build]`: how `build.sh` is run."""

    timeout_seconds: Seconds = Field(
        default=3600,
        description="Time limit of a build in seconds; then all of its processes are killed.",
    )
    output_limit: Count = Field(
        default=256 * 1024,
        description="Bytes of the output of a process that a workflow gets; of longer output, "
        "the head and the tail.",
    )
    baseline: Literal["while-waiting", "before", "never"] = Field(
        default="while-waiting",
        description="Build the files from before the run, unless they are known to be green: while "
        "the first call is out, or before it, which a red build prevents; or never.",
    )


class SandboxTable(_Table):
    """`[sandbox]`: what builds and commands can reach.

    `sandbox = "require"` alone sets the mode.
    """

    mode: Literal["auto", "require", "off"] = Field(
        default="auto",
        description="Isolate builds and commands with bubblewrap: if it works, always, or never.",
    )
    network: bool = Field(default=True, description="Allow builds and commands to use the network.")
    writable: list[Path] = Field(
        default=[],
        description="More folders that builds and commands may write; only in the user's file.",
        json_schema_extra={"user_file_only": True},
    )
    readable: list[Path] = Field(
        default=[],
        description="Files and folders that they may see although hidden, but no sockets; "
        "likewise.",
        json_schema_extra={"user_file_only": True},
    )


class StoreSettings(_Table):
    """`[store]`: how much of the project is saved for `undo`."""

    max_file: Annotated[int, BeforeValidator(_not_a_switch), Field(ge=StoreLimits.LEAST_FILE)] = (
        Field(
            default=_LIMITS.max_file,
            description="Bytes of the largest file that is saved for `undo`; "
            "holes of sparse files count.",
        )
    )
    max_total: Annotated[int, BeforeValidator(_not_a_switch), Field(ge=StoreLimits.LEAST_TOTAL)] = (
        Field(
            default=_LIMITS.max_total,
            description="Bytes of all files that were changed together and are saved; "
            "the largest are left out first.",
        )
    )


class RetentionSettings(_Table):
    """`[retention]`: which runs are kept. The end of a run deletes the others."""

    runs: Annotated[int, BeforeValidator(_not_a_switch), Field(ge=1)] | None = Field(
        default=None, description="Most runs that are kept."
    )
    days: Seconds | None = Field(
        default=None, description="Days for which a run is kept, from its start."
    )
    bytes: Annotated[int, BeforeValidator(_not_a_switch), Field(ge=1)] | None = Field(
        default=None, description="Most bytes of run folders and of the store."
    )


class HttpSettings(_Table):
    """`[http]`: how services are called."""

    timeout_seconds: Seconds = Field(
        default=600, description="Seconds to wait while a service sends nothing."
    )
    stall_seconds: Seconds = Field(
        default=300,
        description="The same between two parts of a streamed reply, once it has begun.",
    )
    deadline_seconds: Seconds = Field(
        default=1800, description="Seconds that a call may take, including retries."
    )
    retries: Count = Field(default=5, description="Number of retries after a temporary failure.")


class NamedConfig(BaseModel):
    """The fields of a named config that the host reads, except the address and the key."""

    stream: Stream
    fallback: list[str] = []


class HostSettings(BaseModel):
    """The host's settings.

    Providers and plugins validate their own parts of `[providers]` and `[plugins]`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(
        default="gemini-2.5-pro",
        min_length=1,
        description="The model, unless a role has its own config.",
    )
    max_cost: Dollars | None = Field(
        default=None, description="Most that the model calls of one run may cost, in USD."
    )
    max_files: Annotated[int, BeforeValidator(_not_a_switch), Field(gt=0)] = Field(
        default=10_000, description="Most files that one reply may change."
    )
    on_failure: Literal["keep", "restore"] = Field(
        default="keep", description="Keep or restore the files if the goal is not reached."
    )
    sandbox: SandboxTable = Field(
        default_factory=SandboxTable, description="Isolation of builds and commands."
    )
    stream: Stream = Field(
        default="auto",
        description="Stream replies: if a person watches progress on a terminal, always, or never.",
    )
    stop_early: bool = Field(
        default=False,
        description="Stop a streamed reply as soon as its text cannot be used any more.",
    )
    diff_lines: Count = Field(
        default=40,
        description="Lines of the diff that the end of a run shows on a terminal; 0 shows none.",
    )
    after_run_timeout_seconds: Seconds = Field(
        default=120, description="Time limit of the work of each plugin after a run, in seconds."
    )
    build: BuildSettings = Field(default_factory=BuildSettings, description="Limits of build.sh.")
    store: StoreSettings = Field(
        default_factory=StoreSettings, description="Limits of what is saved for `undo`."
    )
    retention: RetentionSettings = Field(
        default_factory=RetentionSettings,
        description="Which runs are kept; without a limit, all of them.",
    )
    http: HttpSettings = Field(
        default_factory=HttpSettings, description="Limits of calls to services."
    )
    providers: dict[str, Any] = Field(
        default_factory=dict, description="Roles, and the named configs of each provider."
    )
    plugins: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="The settings of each plugin."
    )


Model = TypeVar("Model", bound=BaseModel)
Origin = Callable[[Name], str]
"""Returns where a name in a table was set, or an empty text."""


def validated(
    model: type[Model],
    section: Mapping[str, Any],
    where: str,
    origin: Origin,
    more_names: Iterable[str] = (),
) -> Model:
    """Return `section` as a `model`.

    Unknown names are errors, unless the model takes any (`extra="allow"`). `where` names the
    section in errors. `origin` returns the place where a name in it was set. `more_names` are valid
    in the section, although the model does not have them.

    Raises:
        NotReady: a name is unknown or missing, or a value has the wrong type.
    """
    takes_any = model.model_config.get("extra") == "allow"
    try:
        return model.model_validate(section, extra=None if takes_any else "forbid")
    except ValidationError as error:
        texts = []
        for place, text in explained(error, model, origin, more_names):
            texts.append(": ".join(filter(None, (place, where, text))))
        raise NotReady("; ".join(texts)) from None


def explained(
    error: ValidationError,
    model: type[BaseModel],
    origin: Origin,
    more_names: Iterable[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yield the origin and an error text of each problem.

    A flag is named as on the command line. `more_names` are as for `validated`.
    """
    settings = [".".join(name) for name, _ in leaves(model)]
    settings += more_names
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        name = tuple(str(part) for part in problem["loc"])
        place = origin(name)
        subject = ".".join(name)
        if place == FLAG and name:
            subject = f"--{name[0].replace('_', '-')}"
        if problem["type"] == "extra_forbidden":
            suggestion = _suggestion(name, place, settings)
            yield place, f"there is no setting {subject or repr('')}{suggestion}"
            continue
        text = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
        text = text.replace("a valid dictionary", "a table").partition(", unable to parse")[0]
        text = text.partition(" or instance of ")[0]
        if text.startswith("should "):
            yield place, f"{subject} {text}"
        elif subject:
            yield place, f"{subject}: {text}"
        else:
            yield place, text


def leaves(model: type[BaseModel], above: Name = ()) -> Iterator[tuple[Name, str]]:
    """Yield the name of each setting of `model`, in tables too, with its description."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from leaves(field.annotation, (*above, name))
        else:
            yield (*above, name), field.description or ""


def _suggestion(name: Name, place: str, settings: Iterable[str]) -> str:
    """Return `; did you mean X?` for the setting with a similar name, spelled as at `place`."""
    similar = closest(".".join(name), settings)
    if not similar:
        return ""
    variable = "__".join(name).upper()
    if place.endswith(variable):
        prefix = place.removeprefix(VARIABLE).removesuffix(variable)
        similar = prefix + similar.replace(".", "__").upper()
    return f"; did you mean {similar}?"
