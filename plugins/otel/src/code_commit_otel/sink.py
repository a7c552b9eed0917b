"""The log sink: one trace per run, sent when the run ends."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.util.types import AttributeValue

from code_commit.plugin_api import Record, Worker, count_of
from code_commit_otel.identity import RunIds
from code_commit_otel.spans import RunSpans

_GRACE = 1.0  # seconds; the exporter's own time limit may come first, with a better message


class ExportFailed(Exception):  # noqa: N818 - the name of an event
    """The collector did not accept the trace."""


class TraceSink:
    """Converts records to spans and sends them in one request.

    A missing collector delays a run only once, by at most `timeout` seconds at its end. Trace and
    span ids derive from the run: exporting it again sends the same trace. With `content`, prompts,
    responses, paths and command lines become attributes.
    """

    def __init__(self, exporter: SpanExporter, *, content: bool, timeout: float = 10) -> None:
        self._exporter = exporter
        self._timeout = timeout
        self._content = content
        self._ended = _Ended()
        self._spans: RunSpans | None = None
        self._abandoned = False

    def receive(self, record: Record) -> None:
        """See `LogSink.receive`."""
        if self._spans is None:
            self._spans = self._start(record)
        self._spans.receive(record)

    def close(self) -> None:
        """See `LogSink.close`.

        Raises:
            ExportFailed: the collector did not accept the trace.
        """
        try:
            if self._spans is None:
                return
            self._spans.end()
            self._export(self._ended.spans)
        finally:
            if not self._abandoned:  # shutdown would wait for the running attempt
                self._exporter.shutdown()

    def _export(self, spans: list[ReadableSpan]) -> None:
        failed = f"the collector did not accept the trace of {count_of(len(spans), 'span')}"
        # The exporter's time limit is per read: an answer that arrives byte by byte never hits it.
        attempt = partial(_export, self._exporter, spans)
        try:
            result = Worker("code-commit-otel").call(attempt, seconds=self._timeout + _GRACE)
        except TimeoutError:
            self._abandoned = True
            raise ExportFailed(f"{failed} within {self._timeout:g} s") from None
        if isinstance(result, Exception):  # older exporters raise the errors of their HTTP library
            raise ExportFailed(f"{failed}: {type(result).__name__}") from result
        if result is not SpanExportResult.SUCCESS:
            raise ExportFailed(failed)

    def _start(self, record: Record) -> RunSpans:
        version = _version_of(record)
        service = {"service.name": "code-commit", "service.version": version}
        provider = TracerProvider(
            resource=Resource.create({**service, **_user_attributes()}),
            id_generator=RunIds(record.run, record.time),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._ended)
        return RunSpans(provider.get_tracer("code-commit", version), content=self._content)


def _version_of(record: Record) -> str:
    versions = record.data.get("versions")
    if not isinstance(versions, dict):
        return ""
    return str(versions.get("code-commit", ""))


def _export(exporter: SpanExporter, spans: list[ReadableSpan]) -> SpanExportResult | Exception:
    try:
        return exporter.export(spans)
    except Exception as error:  # noqa: BLE001 - the waiting thread reports it
        return error


class _Ended(SpanProcessor):
    """Collects spans when they end."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


def _user_attributes() -> Mapping[str, AttributeValue]:
    """Return the service attributes in OpenTelemetry's variables, which the user set."""
    return OTELResourceDetector().detect().attributes
