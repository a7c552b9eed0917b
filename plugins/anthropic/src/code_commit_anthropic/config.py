"""The settings of `[providers.anthropic.<name>]`, except the host's (address, key, time limits)."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MIN_THINKING_TOKENS = 1024


class AnthropicConfig(BaseModel):
    """Settings of every request.

    `max_tokens` limits the reply, thinking included; the service requires it, so there is a
    default. `cache_ttl` is how long the service caches the beginning of a prompt; five minutes
    count from its last use. `thinking_budget_tokens` turns thinking on for models up to 4.6;
    `thinking` and `effort` control it for later ones.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0, le=1)
    thinking_budget_tokens: int | None = Field(default=None, ge=MIN_THINKING_TOKENS)
    thinking: Literal["adaptive", "disabled"] | None = None
    cache_ttl: Literal["5m", "1h"] = "5m"
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None

    @model_validator(mode="after")
    def _check_thinking(self) -> Self:
        if self.thinking_budget_tokens is None:
            return self
        if self.thinking is not None:
            raise ValueError("thinking and thinking_budget_tokens cannot be used together")
        if self.thinking_budget_tokens >= self.reply_limit:
            raise ValueError(
                f"thinking_budget_tokens must be lower than max_tokens ({self.reply_limit})"
            )
        if self.temperature not in {None, 1}:
            raise ValueError("with thinking_budget_tokens, the temperature must be 1")
        return self

    @property
    def reply_limit(self) -> int:
        """Return `max_tokens`, or a default that the model accepts."""
        if self.max_tokens is not None:
            return self.max_tokens
        if self.model.startswith(("claude-3-5-", "claude-3.5-")):
            return 8192
        if self.model.startswith(
            ("claude-3-opus", "claude-3-sonnet", "claude-3-haiku", "claude-2")
        ):
            return 4096
        return 32000
