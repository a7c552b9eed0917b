"""The host's own settings: names, types, defaults and descriptions."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import BaseSettings, SettingsConfigDict


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
        description="Bytes of each output stream of a build that a repair prompt shows; beyond it head and tail.",
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
