"""Spans of a run: the run, nested spans of a workflow (attempts), model calls, changes, builds and
commands.
"""

from __future__ import annotations

from pathlib import Path

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from code_commit.plugin_api import Record, is_build, process_ending, process_passed
from code_commit_otel import attributes as attribute
from code_commit_otel.attributes import Attributes, Data

_NANOSECONDS = 1_000_000_000
# `RunSpans` has a method for each kind.
_KINDS = frozenset(
    {
        "run.started",
        "run.finished",
        "call.started",
        "call.finished",
        "process.started",
        "process.finished",
        "changes.parsed",
        "changes.applied",
        "changes.refused",
    }
)
# Not spans.
_EVENTS = frozenset({"call.retried", "plugin.failed", "state.entered", "changes.undone"})


class RunSpans:
    """Builds spans from records.

    Pass every record in order, then call `end`; open spans end with the last record.
    """

    def __init__(self, tracer: Tracer, *, content: bool) -> None:
        self._tracer = tracer
        self._content = content
        self._folder = Path()
        self._latest = 0
        self._open: dict[int, Span] = {}  # by the record's span, in order of their start
        self._parents: dict[int, int | None] = {}
        self._parsed: dict[int, int] = {}  # when the changes of a span were parsed

    def receive(self, record: Record) -> None:
        """Start or end a span, or add to one."""
        self._latest = max(self._latest, _nanoseconds(record))
        self._parents.setdefault(record.span, record.parent)
        if record.kind in _KINDS:
            getattr(self, f"_{record.kind.replace('.', '_')}")(record, record.data)
        elif record.kind.endswith(".started"):
            self._begin(record, record.kind.removesuffix(".started"), self._plain(record.data))
        elif record.kind.endswith(".finished"):
            self._finish(record, self._error_text(record.data.get("error"), "failed"))
        elif record.kind in _EVENTS:
            span = self._enclosing(record.span)
            if span is not None:
                span.add_event(
                    record.kind, self._plain(record.data), timestamp=_nanoseconds(record)
                )

    def end(self) -> None:
        """End open spans, innermost first."""
        for span in reversed(list(self._open.values())):
            span.set_status(Status(StatusCode.ERROR, "unfinished"))
            span.end(self._latest)
        self._open.clear()

    # --- one per kind -------------------------------------------------------------------------------------------------

    def _run_started(self, record: Record, data: Data) -> None:
        self._folder = Path(str(data.get("root")), str(data.get("folder")))
        self._begin(record, f"invoke_workflow {data.get('workflow')}", attribute.of_run(data))

    def _run_finished(self, record: Record, data: Data) -> None:
        outcome = str(data.get("outcome"))
        root = self._open.pop(record.span, None)
        self.end()  # spans of threads that the run did not wait for
        if root is not None:
            self._open[record.span] = root
        error = "" if outcome == "reached" else self._error_text(data.get("summary"), outcome)
        self._finish(
            record, error, attribute.of_ending(data) | ({"error.type": outcome} if error else {})
        )

    def _call_started(self, record: Record, data: Data) -> None:
        span = self._begin(
            record, f"chat {data.get('model')}", attribute.of_call(data), SpanKind.CLIENT
        )
        if self._content:
            span.set_attributes(attribute.input_messages(self._folder, data.get("request")))

    def _call_finished(self, record: Record, data: Data) -> None:
        attributes = attribute.of_answer(data)
        if self._content and not data.get("error"):
            finish = data.get("finish_detail") or data.get("finish")
            attributes |= attribute.output_messages(self._folder, data.get("response"), finish)
        self._finish(
            record,
            self._error_text(data.get("error"), str(data.get("error_kind") or "failed")),
            attributes,
        )

    def _process_started(self, record: Record, data: Data) -> None:
        self._begin(record, _process_name(data), attribute.of_process(data, content=self._content))

    def _process_finished(self, record: Record, data: Data) -> None:
        attributes = attribute.of_process_end(data)
        error = "" if process_passed(data) else process_ending(data)
        if data.get("tampered"):
            error = self._error_text(error, "tampered")  # it names paths
        self._finish(record, error, attributes)

    def _changes_parsed(self, record: Record, _: Data) -> None:
        self._parsed[record.span] = _nanoseconds(record)

    def _changes_applied(self, record: Record, data: Data) -> None:
        self._change(record, "apply changes", data).end(_nanoseconds(record))

    def _changes_refused(self, record: Record, data: Data) -> None:
        span = self._change(record, "refuse changes", data)
        span.set_attribute("error.type", "refused")
        span.set_status(Status(StatusCode.ERROR, self._error_text(data.get("reason"), "refused")))
        span.end(_nanoseconds(record))

    # --- spans ------------------------------------------------------------------------------------------------------

    def _change(self, record: Record, name: str, data: Data) -> Span:
        """Start the span of a change, from when it was parsed until it was written or refused."""
        parent = self._enclosing(record.span)
        return self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent else None,
            attributes=attribute.of_changes(data, content=self._content),
            start_time=self._parsed.pop(record.span, _nanoseconds(record)),
        )

    def _begin(
        self, record: Record, name: str, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        parent = self._enclosing(record.parent)
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent else None,
            kind=kind,
            attributes=attributes,
            start_time=_nanoseconds(record),
        )
        started = self._open.pop(record.span, None)
        if started is not None:  # its end record is missing
            started.end(_nanoseconds(record))
        self._open[record.span] = span
        return span

    def _enclosing(self, span: int | None) -> Span | None:
        """Return the open span that contains a record's span, which may have no start record."""
        for _ in range(len(self._parents) + 1):
            if span is None or span in self._open:
                break
            span = self._parents.get(span)
        return None if span is None else self._open.get(span)

    def _finish(
        self, record: Record, error: str = "", attributes: Attributes | None = None
    ) -> None:
        span = self._open.pop(record.span, None)
        if span is None:
            return
        span.set_attributes(attributes or {})
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(_nanoseconds(record))

    def _error_text(self, words: object, instead: str) -> str:
        """Return an error's text, or ""; it may quote a response, so without `content` return
        `instead`.
        """
        return "" if not words else str(words) if self._content else instead

    def _plain(self, data: Data) -> Attributes:
        """Return an event's own fields; text fields are content."""
        kinds = str | int | float if self._content else int | float
        return {
            f"code_commit.{name}": value for name, value in data.items() if isinstance(value, kinds)
        }


def _process_name(data: Data) -> str:
    return "build" if is_build(data.get("argv")) else "command"


def _nanoseconds(record: Record) -> int:
    return round(record.time * _NANOSECONDS)
