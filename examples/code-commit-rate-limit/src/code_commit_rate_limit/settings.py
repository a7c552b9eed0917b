"""The section `[plugins.rate-limit]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class RateLimitSettings(BaseModel):
    """`calls_per_minute` is the limit; without it, there is no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls_per_minute: int | None = Field(default=None, ge=1)
