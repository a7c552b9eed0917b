"""The flags of the consistency report."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from code_commit_consistency.report_files import MOST_REPORTS


class ConsistencyOptions(BaseModel):
    """`samples` is the number of reports to request at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    samples: int = Field(1, ge=1, le=MOST_REPORTS)
