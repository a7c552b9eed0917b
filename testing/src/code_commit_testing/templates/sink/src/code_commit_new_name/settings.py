"""The section `[plugins.new-name]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class NewNameSettings(BaseModel):
    """`file` gets a line for each run; without it, nothing is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = None
