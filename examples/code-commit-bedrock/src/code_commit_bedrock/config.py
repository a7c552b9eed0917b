"""The settings of one `[providers.bedrock.<name>]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class BedrockConfig(BaseModel):
    """`region` and `profile` default to those of AWS; `endpoint` is for a proxy or a test."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    region: str | None = None
    profile: str | None = None
    endpoint: str | None = None
