"""The section `[plugins.cache]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class CacheSettings(BaseModel):
    """`folder` contains the answers; without it, there is no cache."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path | None = None
