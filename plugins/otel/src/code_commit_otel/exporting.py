"""The way to a collector."""

from __future__ import annotations

import logging

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter

from code_commit_otel.settings import OtelSettings


def otlp_exporter(settings: OtelSettings) -> SpanExporter:
    """Return an exporter by OTLP over HTTP; what the settings leave open, the variables of OpenTelemetry say."""
    # It logs what goes wrong, and Python prints what nobody handles: here the sink tells of it, once.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    return OTLPSpanExporter(endpoint=settings.endpoint, timeout=settings.timeout_seconds)
