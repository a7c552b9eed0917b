"""The section `[plugins.ledger]`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict


class LedgerSettings(BaseModel):
    """`file` receives a line for each run; without it, nothing is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: Path | None = None
