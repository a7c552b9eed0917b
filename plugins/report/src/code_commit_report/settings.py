"""The section `[plugins.html]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ReportSettings(BaseModel):
    """What the report contains, and its limits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    live: bool = Field(
        default=False,
        description="Whether the page is also written at each step, and loads itself anew.",
    )
    index: bool = Field(default=True, description="Whether logs/index.html, the list of all runs, is kept up.")
    text_limit: int = Field(
        default=256 * 1024,
        ge=1024,
        description="Characters of a prompt, a reply or an output that the page shows; of more, the head and the tail.",
    )
