"""The section `[plugins.html]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ReportSettings(BaseModel):
    """The content of the report, and its limits."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    live: bool = Field(
        default=False,
        description="Whether the page is also written at each step, and reloads itself.",
    )
    whole: bool = Field(
        default=False,
        description="Whether each run writes the whole page, as with `live`, not a short one.",
    )
    index: bool = Field(
        default=True, description="Whether each run is added to logs/index.html, the list of runs."
    )
    text_limit: int = Field(
        default=32 * 1024,
        ge=1024,
        description=(
            "Characters of a prompt, a reply or an output on the page; "
            "longer text is cut in the middle."
        ),
    )
