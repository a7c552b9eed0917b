"""The section `[plugins.branch]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class BranchSettings(BaseModel):
    """`base` is the branch that the current one is compared with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: str = Field("main", min_length=1)
