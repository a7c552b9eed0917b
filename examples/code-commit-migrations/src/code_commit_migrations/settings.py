"""The section `[plugins.migrations]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class MigrationsSettings(BaseModel):
    """`folder` contains the migrations; it is relative to the root of the project."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = Field("migrations", pattern=r"^[^/].*[^/]$")
