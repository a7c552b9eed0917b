"""The settings of one `[providers.parrot.<name>]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ParrotConfig(BaseModel):
    """`max_tokens` limits a reply; `mood` is Parrot's name for the temperature."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    mood: float | None = Field(default=None, ge=0, le=1)
