"""The section `[plugins.otel]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class OtelSettings(BaseModel):
    """The destination and content of traces.

    Put headers with secrets into `OTEL_EXPORTER_OTLP_HEADERS`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description=(
            "The collector's address for traces, such as http://localhost:4318/v1/traces. If "
            "unset, the variables of OpenTelemetry apply; without any of them, nothing is sent."
        ),
    )
    content: bool = Field(
        default=False,
        description="Whether traces contain prompts, responses, paths and command lines.",
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description=(
            "How long a run waits for the collector at its end. If unset, "
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT or OTEL_EXPORTER_OTLP_TIMEOUT, in seconds and at "
            "most 60, or 10."
        ),
    )
