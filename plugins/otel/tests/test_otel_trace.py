"""A run as a trace: with the SDK's in-memory exporter, and with OTLP to a receiver on loopback."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from code_commit.plugin_api import Record
from code_commit_otel.exporting import timeout_of
from code_commit_otel.settings import OtelSettings
from code_commit_otel.sink import ExportFailed, TraceSink
from code_commit_testing import Project

BUILD = {"argv": ["bash", "build.sh"], "sandbox": "bubblewrap", "log": "1-build.txt"}
COMMAND = {"argv": ["/usr/bin/secretive", "--word"], "sandbox": "off", "log": "c.txt"}
STORY = (
    (0.0, 1, None, "run.started", {"workflow": "committing-code", "root": "{root}", "folder": "logs/r", "commit": "abc",
                                   "versions": {"code-commit": "1.2"}, "argv": ["--query", "secret words"]}),
    (0.1, 2, 1, "attempt.started", {"number": 1, "words": "secret words"}),
    (1.0, 3, 2, "call.started", {"number": 1, "label": "initial-query", "provider": "gemini", "model": "gemini-2.5-pro",
                                 "address": "https://example.org/v1", "key_source": "a file", "request": "q.txt"}),
    (1.5, 3, 2, "call.retried", {"number": 1, "attempt": 1, "wait": 0.5, "reason": "secret words"}),
    (6.0, 3, 2, "call.finished", {"number": 1, "model": "gemini-2.5-pro-002", "finish": "stop", "finish_detail": "STOP",
                                  "input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 4, "response": "r.txt"}),
    (6.1, 2, 1, "changes.parsed", {"written": ["secret.py"], "deleted": []}),
    (6.3, 2, 1, "changes.applied", {"written": ["secret.py"], "deleted": []}),
    (6.4, 4, 2, "process.started", BUILD),
    (9.0, 4, 2, "process.finished", {**BUILD, "exit_code": 1, "timed_out": False, "tampered": []}),
    (9.1, 5, 2, "process.started", COMMAND),
    (9.2, 5, 2, "process.finished", {**COMMAND, "exit_code": 0, "timed_out": False, "tampered": []}),
    (9.3, 2, 1, "attempt.finished", {"seconds": 9.2, "error": None}),
    (9.4, 6, 1, "call.started", {"number": 2, "label": "repair-query", "provider": "openai", "model": "gpt-5",
                                 "address": "http://localhost:99/v1", "request": "q.txt"}),
    (9.5, 6, 1, "call.finished", {"number": 2, "model": "gpt-5", "finish": None, "error": "secret words",
                                  "error_kind": "auth", "input_tokens": None, "output_tokens": None}),
    (9.6, 1, None, "changes.refused", {"reason": "secret words", "refusals": []}),
    (10.0, 1, None, "run.finished", {"outcome": "provider_failed", "exit_code": 4, "summary": "secret words"}),
)  # fmt: skip


def records(root, story=STORY):
    for seq, (time, span, parent, kind, data) in enumerate(story, 1):
        fields = {name: str(root) if value == "{root}" else value for name, value in data.items()}
        yield Record(seq, 1_780_000_000 + time, "r", span, parent, kind, fields)


class KeptSpans(InMemorySpanExporter):
    """Keeps its spans after its shutdown."""

    def shutdown(self) -> None:
        pass


def traced(root, *, content=False, story=STORY):
    exporter = KeptSpans()
    sink = TraceSink(exporter, content=content)
    for record in records(root, story):
        sink.receive(record)
    sink.close()
    return exporter.get_finished_spans()


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "logs" / "r"
    folder.mkdir(parents=True)
    (folder / "q.txt").write_text("the secret words of the prompt")
    (folder / "r.txt").write_text("the secret words of the response")
    return tmp_path


def named(spans, name):
    [span] = [span for span in spans if span.name == name]
    return span


def test_a_run_is_one_trace_with_a_span_per_part(root):
    spans = traced(root)
    assert len({span.context.trace_id for span in spans}) == 1
    parents = {span.context.span_id: span.name for span in spans}
    assert {
        (span.name, parents.get(span.parent.span_id) if span.parent else None) for span in spans
    } == {
        ("invoke_workflow committing-code", None),
        ("attempt", "invoke_workflow committing-code"),
        ("chat gemini-2.5-pro", "attempt"),
        ("apply changes", "attempt"),
        ("build", "attempt"),
        ("command", "attempt"),
        ("chat gpt-5", "invoke_workflow committing-code"),
        ("refuse changes", "invoke_workflow committing-code"),
    }


def test_a_call_has_the_attributes_of_the_conventions(root):
    call = named(traced(root), "chat gemini-2.5-pro")
    assert call.kind is SpanKind.CLIENT
    assert (call.end_time - call.start_time) == 5_000_000_000
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-2.5-pro",
        "gen_ai.response.model": "gemini-2.5-pro-002",
        "gen_ai.response.finish_reasons": ("STOP",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "server.address": "example.org",
        "server.port": 443,
        "code_commit.call.number": 1,
        "code_commit.call.label": "initial-query",
    }
    assert [event.name for event in call.events] == ["call.retried"]
    assert call.status.status_code is StatusCode.UNSET


def test_a_failed_span_has_the_error_status(root):
    spans = traced(root)
    failed = {
        span.name: span.attributes["error.type"]
        for span in spans
        if span.status.status_code is StatusCode.ERROR
    }
    assert failed == {
        "build": "exit_code",
        "chat gpt-5": "auth",
        "refuse changes": "refused",
        "invoke_workflow committing-code": "provider_failed",
    }
    assert named(spans, "build").attributes["process.exit.code"] == 1
    apply = named(spans, "apply changes")
    assert (apply.end_time - apply.start_time, apply.attributes["code_commit.files_written"]) == (
        200_000_000,
        1,
    )


def test_a_trace_contains_content_only_with_the_setting(root):
    assert "secret" not in "".join(span.to_json() for span in traced(root)).replace("secretive", "")
    spans = traced(root, content=True)
    call = named(spans, "chat gemini-2.5-pro")
    assert json.loads(call.attributes["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "the secret words of the prompt"}]}
    ]
    [answer] = json.loads(call.attributes["gen_ai.output.messages"])
    assert (answer["role"], answer["finish_reason"]) == ("assistant", "STOP")
    assert answer["parts"][0]["content"] == "the secret words of the response"
    assert named(spans, "command").attributes["process.command_args"] == (
        "/usr/bin/secretive",
        "--word",
    )
    assert named(spans, "apply changes").attributes["code_commit.written"] == ("secret.py",)


def test_a_run_always_has_the_same_ids(root):
    ids = [(span.context.trace_id, span.context.span_id) for span in traced(root)]
    assert ids == [(span.context.trace_id, span.context.span_id) for span in traced(root)]
    assert len(set(ids)) == len(ids)


def test_the_spans_of_a_killed_run_end_with_its_last_record(root):
    spans = traced(root, story=STORY[:3])
    assert [span.name for span in spans] == [
        "chat gemini-2.5-pro",
        "attempt",
        "invoke_workflow committing-code",
    ]
    assert {span.end_time for span in spans} == {1_780_000_001_000_000_000}
    assert {span.status.description for span in spans} == {"unfinished"}


KINDS = sorted({kind for *_, kind, _ in STORY} | {"x.started", "x.finished", "message"})
VALUES = (
    st.none()
    | st.integers()
    | st.text(max_size=4)
    | st.lists(st.text(max_size=3), max_size=2)
    | st.booleans()
)
FIELDS = st.sampled_from(
    ["argv", "model", "address", "written", "root", "folder", "number", "error", "log", "versions"]
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 4), st.none() | st.integers(1, 4),
                          st.dictionaries(FIELDS, VALUES, max_size=4)), max_size=12))  # fmt: skip
def test_all_spans_end_for_records_in_any_order(rows):
    exporter = KeptSpans()
    sink = TraceSink(exporter, content=True)
    for seq, (kind, span, parent, data) in enumerate(rows):
        sink.receive(Record(seq, 1_780_000_000.0 + seq, "r", span, parent, kind, data))
    sink.close()
    started = [kind for kind, *_ in rows if kind.endswith(".started")]
    assert len(exporter.get_finished_spans()) <= len(started) + sum(
        kind.startswith("changes.") for kind, *_ in rows
    )


class Refusing(KeptSpans):
    def export(self, spans):
        return SpanExportResult.FAILURE


class Raising(InMemorySpanExporter):
    def export(self, spans):
        raise ConnectionResetError


@pytest.mark.parametrize(("exporter", "why"), [(Refusing, ""), (Raising, ": ConnectionResetError")])
def test_a_rejected_trace_is_an_error_of_the_sink(root, exporter, why):
    sink = TraceSink(exporter(), content=False)
    for record in records(root):
        sink.receive(record)
    with pytest.raises(
        ExportFailed, match=f"^the collector did not accept the trace of 8 spans{why}$"
    ):
        sink.close()


def test_the_sink_does_not_wait_for_an_exporter_that_hangs(root, monkeypatch):
    monkeypatch.setattr("code_commit_otel.sink._GRACE", 0.0)
    free = threading.Event()

    class Hanging(InMemorySpanExporter):
        def export(self, spans):
            free.wait(60)
            return SpanExportResult.SUCCESS

        def shutdown(self):
            pytest.fail("it waits for the export")

    sink = TraceSink(Hanging(), content=False, timeout=0.01)
    for record in records(root):
        sink.receive(record)
    with pytest.raises(ExportFailed, match=r"within 0\.01 s"):
        sink.close()
    free.set()


@pytest.mark.parametrize(
    ("setting", "variables", "seconds"),
    [
        (3.0, {"OTEL_EXPORTER_OTLP_TIMEOUT": "5"}, 3),
        (None, {"OTEL_EXPORTER_OTLP_TIMEOUT": "5", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "4"}, 4),
        (None, {"OTEL_EXPORTER_OTLP_TIMEOUT": "10000"}, 60),
        (None, {"OTEL_EXPORTER_OTLP_TIMEOUT": "nan"}, 10),
        (None, {}, 10),
    ],
)
def test_the_timeout_comes_from_the_setting_or_a_variable(monkeypatch, setting, variables, seconds):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert timeout_of(OtelSettings(timeout_seconds=setting)) == seconds


# --- whole runs over OTLP ---------------------------------------------------------------------------------------------


class Receiver:
    """An OTLP receiver over HTTP on loopback; `status` is the status of its answers."""

    def __init__(self, status=200):
        self.requests: list[tuple[str, ExportTraceServiceRequest]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, ExportTraceServiceRequest.FromString(body)))
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_: object):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    @property
    def spans(self):
        return [
            span for _, request in self.requests for resource in request.resource_spans
            for scope in resource.scope_spans for span in scope.spans
        ]  # fmt: skip


@pytest.fixture
def run(tmp_path):
    dist_info = tmp_path / "plugins" / "scripted-1.dist-info"
    dist_info.mkdir(parents=True)
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1\n")
    (dist_info / "entry_points.txt").write_text(
        "[code_commit]\nscripted = code_commit_testing.scripted_provider\n"
    )
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    replies = json.dumps(["^^^a.txt\nbad\n^^^end\n", "^^^a.txt\ngood\n^^^end\n"])

    def ran(*arguments, settings="", environ=None):
        config = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\nmodel = "scripted"\n'
        project.write({"agent-config/config.toml": f"{config}replies = {replies}\n{settings}"})
        environ = {"OTEL_EXPORTER_OTLP_TIMEOUT": "60", **(environ or {})}
        finished = project.command(*arguments, environ=environ, plugins=[tmp_path / "plugins"])
        project.command("undo")
        return finished

    return ran


def test_a_collector_receives_a_run(run):
    with Receiver() as receiver:
        variables = {"OTEL_RESOURCE_ATTRIBUTES": "service.name=ours,team=blue"}
        finished = run(environ={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **variables})
    assert finished.exit_code == 0, finished.stderr
    [(path, request)] = receiver.requests
    assert path == "/v1/traces"
    assert sorted(span.name for span in receiver.spans) == sorted(
        [
            *(
                "invoke_workflow committing-code",
                "attempt",
                "attempt",
                "chat scripted",
                "chat scripted",
            ),
            *("apply changes", "apply changes", "build", "build"),
        ]
    )
    attributes = request.resource_spans[0].resource.attributes
    texts = {attribute.key: attribute.value.string_value for attribute in attributes}
    assert (texts["service.name"], texts["team"]) == ("ours", "blue")
    assert "good" not in str(request)


def test_the_settings_select_the_collector_and_the_content(run):
    with Receiver() as receiver:
        run(settings=f'[plugins.otel]\nendpoint = "{receiver.url}/here"\ncontent = true\n')
    [(path, request)] = receiver.requests
    assert path == "/here"
    assert "^^^a.txt" in str(request)


def test_an_exported_run_has_the_same_trace(run):
    with Receiver() as receiver:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        run(environ=environ)
        exported = run("runs", "export", "--sink", "otel", environ=environ)
    assert exported.exit_code == 0, exported.stderr
    first, second = receiver.requests
    assert first[1].resource_spans[0].scope_spans == second[1].resource_spans[0].scope_spans


def test_export_without_a_collector_is_an_error(run):
    assert run().exit_code == 0
    off = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"}
    assert "returned no sink" in run("runs", "export", "--sink", "otel", environ=off).stderr
    exported = run("runs", "export", "--sink", "otel")
    assert exported.exit_code == 3
    assert "returned no sink" in exported.stderr


@pytest.mark.parametrize("kind", ["refuses", "is away"])
def test_a_failing_collector_does_not_change_the_outcome(run, kind):
    if kind == "refuses":
        with Receiver(status=400) as receiver:
            finished = run(settings=f'[plugins.otel]\nendpoint = "{receiver.url}"\n')
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            settings = f'[plugins.otel]\nendpoint = "http://127.0.0.1:{free.getsockname()[1]}"\ntimeout_seconds = 0.5\n'
            finished = run(settings=settings)
    assert finished.exit_code == 0
    lines = [
        line
        for line in finished.stderr.splitlines()
        if "otel" in line or "opentelemetry" in line.lower()
    ]
    assert len(lines) == 1, lines
    assert "did not accept the trace" in lines[0]
