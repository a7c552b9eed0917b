"""The settings of `[providers.openai.<name>]`, except the host's (address, key, time limits)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

_Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class OpenAIConfig(BaseModel):
    """Settings of every request.

    `max_tokens` limits the reply, reasoning included. `max_tokens_field` is the name of its field:
    by default `max_completion_tokens` for OpenAI's own models and `max_tokens` for all others,
    which Ollama, llama.cpp, vLLM and most other servers read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    reasoning_effort: _Effort | None = None
