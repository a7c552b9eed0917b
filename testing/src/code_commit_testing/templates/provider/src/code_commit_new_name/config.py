"""The settings of one `[providers.new-name.<config>]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameConfig(BaseModel):
    """`model` is required; `max_tokens` limits a reply."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
