"""Flags and settings of the explanation."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ExplainSettings(BaseModel):
    """The section `[plugins.explain]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: int = Field(200, ge=1)


class ExplainOptions(BaseModel):
    """The flags."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    explain: str
    words: int = Field(200, ge=1)
