"""Spans of a run: the run, those of its workflow, model calls, changes, builds and commands."""

from __future__ import annotations

from pathlib import Path

from opentelemetry.context import Context
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
        kind = record.kind
        if kind in _KINDS:
            receive = getattr(self, f"_{kind.replace('.', '_')}")
            receive(record, record.data)
        elif kind.endswith(".started"):
            self._begin(record, kind.removesuffix(".started"), self._plain(record.data))
        elif kind.endswith(".finished"):
            self._finish(record, self._error_text(record.data.get("error"), "failed"))
        elif kind in _EVENTS:
            span = self._enclosing(record.span)
            if span is not None:
                span.add_event(kind, self._plain(record.data), timestamp=_nanoseconds(record))

    def end(self) -> None:
        """End open spans, innermost first."""
        for span in reversed(list(self._open.values())):
            span.set_status(Status(StatusCode.ERROR, "unfinished"))
            span.end(self._latest)
        self._open.clear()

    # --- one for each kind of `_KINDS`

    def _run_started(self, record: Record, data: Data) -> None:
        self._folder = Path(str(data.get("root")), str(data.get("folder")))
        self._begin(record, f"invoke_workflow {data.get('workflow')}", attribute.of_run(data))

    def _run_finished(self, record: Record, data: Data) -> None:
        outcome = str(data.get("outcome"))
        root = self._open.pop(record.span, None)
        self.end()  # spans of threads that the run did not wait for
        if root is not None:
            self._open[record.span] = root
        attributes = attribute.of_ending(data)
        error = ""
        if outcome != "reached":
            error = self._error_text(data.get("summary"), outcome)
        if error:
            attributes["error.type"] = outcome
        self._finish(record, error, attributes)

    def _call_started(self, record: Record, data: Data) -> None:
        name = f"chat {data.get('model')}"
        span = self._begin(record, name, attribute.of_call(data), SpanKind.CLIENT)
        if self._content:
            span.set_attributes(attribute.input_messages(self._folder, data.get("request")))

    def _call_finished(self, record: Record, data: Data) -> None:
        attributes = attribute.of_answer(data)
        if self._content and not data.get("error"):
            finish = attribute.finish_of(data)
            attributes |= attribute.output_messages(self._folder, data.get("response"), finish)
        error_kind = str(data.get("error_kind") or "failed")
        self._finish(record, self._error_text(data.get("error"), error_kind), attributes)

    def _process_started(self, record: Record, data: Data) -> None:
        name = "build" if is_build(data.get("argv")) else "command"
        self._begin(record, name, attribute.of_process(data, content=self._content))

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

    # --- spans

    def _change(self, record: Record, name: str, data: Data) -> Span:
        """Start the span of a change, from when it was parsed until it was written or refused."""
        return self._tracer.start_span(
            name,
            context=_context(self._enclosing(record.span)),
            attributes=attribute.of_changes(data, content=self._content),
            start_time=self._parsed.pop(record.span, _nanoseconds(record)),
        )

    def _begin(
        self,
        record: Record,
        name: str,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        span = self._tracer.start_span(
            name,
            context=_context(self._enclosing(record.parent)),
            kind=kind,
            attributes=attributes,
            start_time=_nanoseconds(record),
        )
        unfinished = self._open.pop(record.span, None)
        if unfinished is not None:  # its end record is missing
            unfinished.end(_nanoseconds(record))
        self._open[record.span] = span
        return span

    def _enclosing(self, span: int | None) -> Span | None:
        """Return the open span that contains a record's span, which may have no start record."""
        for _ in range(len(self._parents) + 1):  # parents may be a circle
            if span is None:
                return None
            if span in self._open:
                return self._open[span]
            span = self._parents.get(span)
        return None

    def _finish(
        self,
        record: Record,
        error: str = "",
        attributes: Attributes | None = None,
    ) -> None:
        span = self._open.pop(record.span, None)
        if span is None:
            return
        span.set_attributes(attributes or {})
        if error:
            span.set_status(Status(StatusCode.ERROR, error))
        span.end(_nanoseconds(record))

    def _error_text(self, words: object, placeholder: str) -> str:
        """Return an error's text, or "".

        It may quote a response, so without `content` return `placeholder`.
        """
        if not words:
            return ""
        return str(words) if self._content else placeholder

    def _plain(self, data: Data) -> Attributes:
        """Return an event's own fields; text fields are content."""
        kinds = str | int | float if self._content else int | float
        fields = {name: value for name, value in data.items() if isinstance(value, kinds)}
        return {f"code_commit.{name}": value for name, value in fields.items()}


def _context(parent: Span | None) -> Context | None:
    return set_span_in_context(parent) if parent else None


def _nanoseconds(record: Record) -> int:
    return round(record.time * _NANOSECONDS)
