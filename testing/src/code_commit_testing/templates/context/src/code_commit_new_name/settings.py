"""The section `[plugins.new-name]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameSettings(BaseModel):
    """`folder` is relative to the root of the project."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = Field("src", pattern=r"^[^/].*[^/]$")
