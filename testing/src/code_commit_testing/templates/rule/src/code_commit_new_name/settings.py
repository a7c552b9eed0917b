"""The section `[plugins.new-name]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameSettings(BaseModel):
    """`max_bytes` is the size of the largest new file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_bytes: int = Field(default=100_000, ge=0)
