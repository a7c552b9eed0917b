"""The section `[plugins.changelog]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ChangelogSettings(BaseModel):
    """`folder` has the news fragments; it is relative to the root of the project."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = Field("news", pattern=r"^[^/].*[^/]$")
