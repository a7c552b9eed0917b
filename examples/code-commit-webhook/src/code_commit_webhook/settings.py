"""The section `[plugins.webhook]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class WebhookSettings(BaseModel):
    """`url` receives a request when a run ends; without it, nothing is sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str | None = None
