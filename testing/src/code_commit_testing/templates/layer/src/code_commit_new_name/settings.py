"""The section `[plugins.new-name]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameSettings(BaseModel):
    """`max_calls` limits the model calls of a run; without it, there is no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_calls: int | None = Field(default=None, ge=0)
