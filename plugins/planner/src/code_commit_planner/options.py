"""The flags of planning and of autonomous mode."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class PlanningOptions(BaseModel):
    """`codepath` is the given text; None asks the person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    codepath: str | None = None
    no_git: bool = False
    max_turns: int = Field(5, ge=1)


class AutonomousOptions(BaseModel):
    """`max_turns` limits the loop of coach and player."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(5, ge=1)
