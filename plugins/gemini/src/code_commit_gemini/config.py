"""The settings of `[providers.gemini.<name>]`, except the host's (address, key, time limits)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class GeminiConfig(BaseModel):
    """Settings of every request.

    `max_tokens` limits the reply, thinking included. `thinking_budget_tokens` is for 2.5 models (0
    turns thinking off if possible, -1 lets the model decide), `thinking_level` is for later ones.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    thinking_budget_tokens: int | None = Field(default=None, ge=-1)
    thinking_level: Literal["minimal", "low", "medium", "high"] | None = None

    @model_validator(mode="after")
    def _check_thinking(self) -> Self:
        if self.thinking_budget_tokens is not None and self.thinking_level is not None:
            raise ValueError("thinking_level and thinking_budget_tokens cannot be used together")
        return self
