"""The section `[plugins.acceptance]`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class AcceptanceSettings(BaseModel):
    """What the checks of this plugin do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tests_of_before: Literal["report", "require", "off"] = Field(
        "report",
        description="Build once more with the tests from before the run, if the change altered "
        "some: report the result, or require that it is green.",
    )
    signals: Literal["warn", "refuse", "off"] = Field(
        "warn",
        description="What to do about signs in the diff that the change weakens what checks it.",
    )
    review: bool = Field(
        default=False,
        description="Let the model of the role reviewer judge each change, as with --review.",
    )
