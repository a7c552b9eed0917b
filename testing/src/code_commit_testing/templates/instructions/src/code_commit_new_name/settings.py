"""The section `[plugins.new-name]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameSettings(BaseModel):
    """`file` has the instructions; it is relative to the root of the project."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field("AGENTS.md", min_length=1)
