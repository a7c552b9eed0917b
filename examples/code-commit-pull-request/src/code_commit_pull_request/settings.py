"""The section `[plugins.pull-request]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class PullRequestSettings(BaseModel):
    """`remote` receives a branch for each change; without it, nothing is pushed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    remote: str | None = None
