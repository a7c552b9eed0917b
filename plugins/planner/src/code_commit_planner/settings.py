"""Settings and flags of planning, autonomous mode and chat."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

_MAX_TURNS = Field(
    5, ge=1, description="Turns of the player, each reviewed by the coach; flag --max-turns."
)


class PlannerSettings(BaseModel):
    """Defaults of planning, autonomous mode and chat; flags override them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = _MAX_TURNS
    commit_hooks: bool = Field(
        False, description="Run the repository's hooks and sign commits when planning commits."
    )
    diff_limit: int = Field(
        100_000, ge=1000, description="Maximum characters of a diff in one prompt for the coach."
    )
    acceptance: bool = Field(
        False,
        description="Ask the acceptance checks about the work that the coach approves, after a "
        "green build. Planning then builds as well.",
    )


class PlanningOptions(BaseModel):
    """`codepath` is the given text; None asks the person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    codepath: str | None = None
    no_git: bool = False
    max_turns: int = _MAX_TURNS


class AutonomousOptions(BaseModel):
    """`max_turns` limits the loop of coach and player."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = _MAX_TURNS
