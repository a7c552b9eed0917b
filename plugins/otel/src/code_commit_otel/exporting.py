"""Create the exporter."""

from __future__ import annotations

import logging
import math
import os

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter

from code_commit_otel.settings import OtelSettings

# Seconds.
_DEFAULT = 10.0
_LONGEST = 60.0


def otlp_exporter(settings: OtelSettings) -> SpanExporter:
    """Return an exporter for OTLP over HTTP; OpenTelemetry's variables fill in missing settings."""
    # It logs failures, and Python prints unhandled log records. The sink reports failures once.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    return OTLPSpanExporter(endpoint=settings.endpoint, timeout=timeout_of(settings))


def timeout_of(settings: OtelSettings) -> float:
    """Return how many seconds a run waits for the collector at its end."""
    if settings.timeout_seconds is not None:
        return settings.timeout_seconds
    for name in ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"):
        try:
            seconds = float(os.environ[name])
        except (KeyError, ValueError):
            continue
        if 0 < seconds < math.inf:
            return min(seconds, _LONGEST)
    return _DEFAULT
