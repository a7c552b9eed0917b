"""The section `[plugins.truncation]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TruncationSettings(BaseModel):
    """The limits below which a replacement counts as truncated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shrink_below: float = Field(
        default=0.5,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description=(
            "The share of its lines and bytes that a replaced file must keep; 0 lets files shrink."
        ),
    )
    shrink_from_lines: int = Field(
        default=10, ge=0, description="Files with fewer lines than this may shrink."
    )
    placeholders: bool = Field(
        default=True,
        description='Whether comments like "... existing code ..." in place of code are sent back.',
    )
