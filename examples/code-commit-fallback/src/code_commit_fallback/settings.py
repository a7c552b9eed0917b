"""The section `[plugins.fallback]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FallbackSettings(BaseModel):
    """`model` is the second model, such as "openai.backup"; without it, there is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
