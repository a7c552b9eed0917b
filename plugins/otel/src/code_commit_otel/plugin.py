"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl

if TYPE_CHECKING:
    from code_commit.plugin_api import LogSink
    from code_commit_otel.settings import OtelSettings

# OpenTelemetry's variables for the address of a collector.
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.otel]`."""
    return "code_commit_otel.settings:OtelSettings"


@hookimpl
def code_commit_log_sinks(settings: OtelSettings) -> list[LogSink]:
    """Return one sink if a collector is configured: nothing is sent to a default address."""
    is_configured = settings.endpoint is not None or any(map(os.environ.get, _ENDPOINTS))
    if not is_configured or _is_disabled():
        return []
    from code_commit_otel.exporting import otlp_exporter, timeout_of
    from code_commit_otel.sink import TraceSink

    exporter = otlp_exporter(settings)
    return [TraceSink(exporter, content=settings.content, timeout=timeout_of(settings))]


def _is_disabled() -> bool:
    return _variable("OTEL_SDK_DISABLED") == "true" or _variable("OTEL_TRACES_EXPORTER") == "none"


def _variable(name: str) -> str:
    return os.environ.get(name, "").strip().lower()
