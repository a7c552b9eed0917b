"""The flags of the consistency report."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from code_commit_consistency.report_files import MOST_REPORTS


class ConsistencyOptions(BaseModel):
    """The flags.

    `samples` is the number of reports to request at once. `spec` is the specification that the
    report is about. With `fail_on` "any", a run with findings in one of the first four sections is
    not reached.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    samples: int = Field(1, ge=1, le=MOST_REPORTS)
    query: str | None = None
    query_file: str | None = None
    spec: str | None = None
    fail_on: Literal["any"] | None = None

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.query is not None and self.query_file is not None:
            raise ValueError("--query cannot be used with --query-file")
        return self
