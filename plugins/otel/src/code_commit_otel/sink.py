"""The log sink: one trace per run, sent when the run is over."""

from __future__ import annotations

import os

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from code_commit.plugin_api import Record
from code_commit_otel.identity import RunIds
from code_commit_otel.spans import RunSpans


class ExportFailed(Exception):  # noqa: N818 - what happened
    """The collector did not take the trace."""


class TraceSink:
    """Makes spans of records. They are sent together, so that a collector that is away costs a run one time limit.

    Trace and span ids follow from the run: a run that is exported again is the same trace. `content`: whether prompts,
    responses, paths and command lines become attributes.
    """

    def __init__(self, exporter: SpanExporter, *, content: bool) -> None:
        self._exporter = exporter
        self._content = content
        self._ended = _Ended()
        self._spans: RunSpans | None = None

    def receive(self, record: Record) -> None:
        """See `LogSink.receive`."""
        if self._spans is None:
            self._spans = self._begun(record)
        self._spans.receive(record)

    def close(self) -> None:
        """See `LogSink.close`.

        Raises:
            ExportFailed: the collector did not take the trace.
        """
        try:
            if self._spans is None:
                return
            self._spans.end()
            self._export(self._ended.spans)
        finally:
            self._exporter.shutdown()

    def _export(self, spans: list[ReadableSpan]) -> None:
        failed = f"the collector did not take the trace of {len(spans)} spans"
        try:
            result = self._exporter.export(spans)
        except Exception as error:  # older exporters let the errors of their HTTP library through
            raise ExportFailed(f"{failed}: {type(error).__name__}") from error
        if result is not SpanExportResult.SUCCESS:
            raise ExportFailed(failed)

    def _begun(self, record: Record) -> RunSpans:
        versions = record.data.get("versions")
        version = versions.get("code-commit", "") if isinstance(versions, dict) else ""
        ours = {"service.name": "code-commit", "service.version": str(version)}
        provider = TracerProvider(
            resource=Resource.create(ours | _named_outside()),
            id_generator=RunIds(record.run, record.time),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._ended)
        return RunSpans(provider.get_tracer("code-commit", str(version)), content=self._content)


class _Ended(SpanProcessor):
    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


def _named_outside() -> dict[str, str]:
    """What a person calls the service counts more than what we do."""
    name = os.environ.get("OTEL_SERVICE_NAME")
    return {"service.name": name} if name else {}
