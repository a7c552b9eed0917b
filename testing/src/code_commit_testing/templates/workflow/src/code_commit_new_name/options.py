"""The flags and the settings of the workflow. A flag overrides the setting of the same name."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class NewNameSettings(BaseModel):
    """The section `[plugins.new-name]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    new_name_words: int = Field(default=100, ge=1)


class NewNameOptions(NewNameSettings):
    """The flags."""

    new_name: str
