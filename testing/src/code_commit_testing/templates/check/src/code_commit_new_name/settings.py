"""The section `[plugins.new-name]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameSettings(BaseModel):
    """`max_files` is how many files a change may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_files: int = Field(default=20, ge=1)
