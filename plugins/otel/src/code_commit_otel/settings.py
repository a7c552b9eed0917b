"""The section `[plugins.otel]`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class OtelSettings(BaseModel):
    """The destination and content of traces. Put headers with secrets into `OTEL_EXPORTER_OTLP_HEADERS`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="The collector's address for traces, such as http://localhost:4318/v1/traces. Without it the "
        "usual variables of OpenTelemetry count, and without these nothing is sent.",
    )
    content: bool = Field(
        default=False, description="Whether prompts, responses, paths and command lines are in the traces."
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="How long the end of a run waits for the collector. Without it, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT "
        "and OTEL_EXPORTER_OTLP_TIMEOUT count, in seconds, at most 60; without these, 10.",
    )
