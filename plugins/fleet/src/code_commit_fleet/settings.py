"""The section `[plugins.fleet]` on the machine that runs a unit."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class FleetSettings(BaseModel):
    """Where units on this machine find keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keys_from: Path | None = Field(
        default=None,
        description=(
            "A folder with key files, such as `openai-key.txt`, "
            "for the units that run on this machine."
        ),
    )
