"""The conformance tests for a `Provider`, through its `complete` and `close`, as one pytest class.

    from code_commit_testing.conformance import CompleteConformance

    class TestMine(CompleteConformance):
        definition = MINE
        environ = {"MINE_TOKEN": SECRET}
        secrets = (SECRET,)

        def settings_for(self, address):
            return {"model": "mine-1", "endpoint": address}

        def answer(self, reply):
            return reply.status, reply.headers, my_json_of(reply)

A service that is not reached over HTTP overrides the fixture `service` with an object like
`ScriptedService`.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import pkgutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from code_commit.plugin_api import (
    Delta,
    Finish,
    Message,
    Provider,
    ProviderDefinition,
    ProviderError,
    ProviderErrorKind,
    Request,
    StopReading,
    StreamEvent,
    ToolResult,
    Usage,
)
from code_commit_testing.command import Finished, Project
from code_commit_testing.conformance_samples import QUESTION, READ, TWO_CALLS, UNKNOWN_WORDS
from code_commit_testing.conformance_stream import assert_same
from code_commit_testing.running_call import AT_ONCE, RunningCall
from code_commit_testing.scripted_provider import model_call
from code_commit_testing.scripted_replies import Reply, Stream
from code_commit_testing.scripted_server import RecordedRequest
from code_commit_testing.scripted_service import ScriptedService

_HELLO = Reply("hello " * 20)


class CompleteConformance:
    """Subclass it, name the subclass `Test…`, and set these attributes.

    `environ` is the environment of the provider. `secrets` are the texts that no error and no file
    may show. `tools` is whether the service offers tools, `streams` whether the provider streams,
    `unspoken` the finishes that the service cannot report. `stream_headers` are the headers of a
    streamed reply.
    """

    definition: ClassVar[ProviderDefinition]
    environ: ClassVar[Mapping[str, str]] = {}
    secrets: ClassVar[Collection[str]] = ()
    tools: ClassVar[bool] = True
    streams: ClassVar[bool] = True
    unspoken: ClassVar[Collection[Finish]] = (Finish.PAUSED,)
    stream_headers: ClassVar[Mapping[str, str]] = {}

    def settings_for(self, address: str) -> Mapping[str, Any]:
        """Return a named config that sends requests to `address`, such as `http://127.0.0.1:8000`."""
        raise NotImplementedError("override `settings_for`")

    def answer(self, reply: Reply) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of `reply` as the service sends it as a whole."""
        raise NotImplementedError("override `answer`")

    def stream_events(self, reply: Reply, piece: int) -> Iterable[StreamEvent | bytes]:
        """Return `reply` as the service streams it.

        An event has up to `piece` characters of text.

        Bytes are sent unchanged. `reply` is no error.
        """
        raise NotImplementedError("override `stream_events`, or set `streams` to False")

    def stream_error(self, reply: Reply) -> StreamEvent | bytes:  # noqa: ARG002 - for those who override it
        """Return the event of an error, which the service sends after the start of a stream."""
        pytest.skip("`stream_error` is not overridden: this service sends no error as an event")

    def asks_to_stream(self, request: RecordedRequest) -> bool:
        """Return whether a request asks for a streamed reply.

        Override it if the body has no `stream: true`.
        """
        return request.streams

    def respond(self, request: RecordedRequest, reply: Reply) -> Reply:
        """Return `reply` as the service answers `request`.

        Override it to check the request, such as its signature.
        """
        if reply.body is not None:
            return replace(reply, stream=None)
        if reply.status < 400 and self.asks_to_stream(request):  # noqa: PLR2004 - the HTTP errors
            stream = reply.stream or Stream()
            if stream.events is None:
                stream = replace(stream, events=tuple(self.stream_events(reply, stream.piece)))
            return replace(reply, headers={**self.stream_headers, **reply.headers}, stream=stream)
        status, headers, body = self.answer(reply)
        return replace(reply, status=status, headers=headers, body=body, stream=None)

    @pytest.fixture
    def service(self) -> Iterator[ScriptedService]:
        """Yield the service."""
        with ScriptedService(self.respond) as service:
            yield service

    @pytest.fixture
    def provider(
        self,
        service: ScriptedService,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Iterator[Provider]:
        """Yield the provider, created as the host creates it, with an empty home folder."""
        for name, value in {"HOME": str(tmp_path), **self.environ}.items():
            monkeypatch.setenv(name, value)
        factory = pkgutil.resolve_name(self.definition.factory)
        config = pkgutil.resolve_name(self.definition.config).model_validate(
            dict(self.settings_for(service.address))
        )
        root = {"root": tmp_path} if "root" in inspect.signature(factory).parameters else {}
        provider: Provider = factory(config, **root)
        yield provider
        provider.close()

    @pytest.fixture
    def plugins(self) -> Sequence[Path]:
        """Return the folders of `install_plugin` that a run of the command needs.

        Override it if yours is one.
        """
        return ()

    @pytest.fixture
    def streaming_provider(self, provider: Provider) -> Provider:
        """Return the provider if it streams."""
        if not self.streams:
            pytest.skip("this provider does not stream")
        return provider

    # --- the definition

    def test_definition_is_complete(self) -> None:
        definition = self.definition
        assert definition.name == definition.name.lower().strip()
        assert not definition.base_url, "the host passes no address to a Provider"
        names = [
            *definition.models,
            *(alias for aliases in definition.models.values() for alias in aliases),
        ]
        assert len(names) == len(set(names))

    def test_configuration_refuses_unknown_fields(self) -> None:
        settings = self.settings_for("http://127.0.0.1:9")
        with pytest.raises(ValueError, match="no_such_field"):
            pkgutil.resolve_name(self.definition.config).model_validate(
                {**settings, "no_such_field": 1}
            )

    # --- replies

    def test_text(self, provider: Provider, service: ScriptedService) -> None:
        service.script(Reply("Grüße,\nline two 🙂\n"))
        completion = provider.complete(model_call(QUESTION))
        assert completion.text == "Grüße,\nline two 🙂\n"
        assert completion.message.role == "assistant"
        assert completion.finish is Finish.STOP
        assert completion.finish_detail
        assert completion.model

    def test_the_request_contains_system_text_and_limit(
        self, provider: Provider, service: ScriptedService
    ) -> None:
        service.script(_HELLO)
        provider.complete(
            model_call(Request(QUESTION.messages, system="Be brief & kind.", max_tokens=12345))
        )
        (request,) = service.requests
        for expected in ("What is in a.txt and b.txt?", "Be brief & kind.", "12345"):
            assert expected in request
        assert not any(secret in request for secret in self.secrets)

    def test_usage_counts_everything(self, provider: Provider, service: ScriptedService) -> None:
        service.script(Reply("hi", usage=Usage(input=100, output=40)), Reply("hi", usage=None))
        counted = provider.complete(model_call(QUESTION)).usage
        uncounted = provider.complete(model_call(QUESTION)).usage
        assert (counted.input, counted.output) == (100, 40)
        assert (uncounted.input, uncounted.output) == (None, None)

    def test_every_finish_is_recognized(self, provider: Provider, service: ScriptedService) -> None:
        for finish in set(Finish) - {Finish.TOOL_CALLS, Finish.STOPPED_EARLY, *self.unspoken}:
            service.script(Reply("as far as I got", finish=finish))
            assert provider.complete(model_call(QUESTION)).finish is finish

    def test_a_missing_finish_is_that_of_a_whole_reply(
        self, provider: Provider, service: ScriptedService
    ) -> None:
        for stream in (False, True) if self.streams else (False,):
            service.script(Reply("all of it", finish=""))
            completion = provider.complete(model_call(QUESTION, stream=stream))
            assert (completion.text, completion.finish) == ("all of it", Finish.STOP)

    @pytest.mark.parametrize("word", UNKNOWN_WORDS)
    def test_a_word_that_nobody_knows_is_not_a_whole_reply(
        self,
        provider: Provider,
        service: ScriptedService,
        word: str,
    ) -> None:
        for stream in (False, True) if self.streams else (False,):
            service.script(Reply("as far as I got", finish=word))
            completion = provider.complete(model_call(QUESTION, stream=stream))
            assert (completion.finish, completion.finish_detail) == (UNKNOWN_WORDS[word], word)

    def test_tools(self, provider: Provider, service: ScriptedService) -> None:
        if not self.tools:
            pytest.skip("this service offers no tools")
        service.script(Reply("Let me look.", tool_calls=TWO_CALLS), Reply("I see."))
        completion = provider.complete(model_call(Request(QUESTION.messages, tools=(READ,))))
        assert completion.finish is Finish.TOOL_CALLS
        assert completion.text == "Let me look."
        assert [(call.name, call.arguments) for call in completion.tool_calls] == [
            (call.name, call.arguments) for call in TWO_CALLS
        ]
        results = tuple(
            ToolResult(call.id, call.name, f"result of {name}")
            for call, name in zip(completion.tool_calls, ("a.txt", "b.txt"), strict=True)
        )
        messages = (*QUESTION.messages, completion.message, Message("user", results))
        assert provider.complete(model_call(Request(messages, tools=(READ,)))).text == "I see."
        first, second = service.requests
        assert "Reads a file." in first
        assert (
            second.index("Let me look.")
            < second.index("result of a.txt")
            < second.index("result of b.txt")
        )

    def test_several_threads_may_call(self, provider: Provider, service: ScriptedService) -> None:
        texts = {f"reply {number}" for number in range(4)}
        service.script(*map(Reply, sorted(texts)))
        calls = [RunningCall(provider, model_call(QUESTION)) for _ in texts]
        assert {call.completion().text for call in calls} == texts

    # --- errors

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (401, "auth"),
            (403, "auth"),
            (429, "rate"),
            (500, "server"),
            (503, "server"),
            (400, "rejected"),
        ],
    )
    def test_errors_by_status(
        self,
        provider: Provider,
        service: ScriptedService,
        status: int,
        kind: ProviderErrorKind,
    ) -> None:
        service.script(*[Reply.error(status, "the reason")] * 9)
        error = RunningCall(provider, model_call(QUESTION)).error()
        assert (error.kind, len(service.requests)) == (kind, 1), (
            "a Provider makes one try: the host retries"
        )

    def test_the_time_to_wait_is_known(self, provider: Provider, service: ScriptedService) -> None:
        service.script(Reply.error(429, "slow down", retry_after="7"))
        assert RunningCall(provider, model_call(QUESTION)).error().retry_after == 7  # noqa: PLR2004 - as above

    @pytest.mark.parametrize("fault", ["drop", "reset", "half"])
    def test_a_broken_connection_is_a_network_error(
        self,
        provider: Provider,
        service: ScriptedService,
        fault: Any,
    ) -> None:
        service.script(replace(_HELLO, fault=fault), _HELLO)
        assert RunningCall(provider, model_call(QUESTION)).error().kind == "network"
        assert provider.complete(model_call(QUESTION)).text == _HELLO.text

    def test_without_a_service_there_is_a_network_error(
        self, provider: Provider, service: ScriptedService
    ) -> None:
        service.close()
        assert RunningCall(provider, model_call(QUESTION)).error().kind == "network"

    @pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"<html>Welcome</html>", b'{"a":' * 5000])
    def test_an_unreadable_reply_is_an_error(
        self,
        provider: Provider,
        service: ScriptedService,
        body: bytes,
    ) -> None:
        service.script(Reply(body=body))
        with pytest.raises(ProviderError):
            provider.complete(model_call(QUESTION))

    @pytest.mark.parametrize("status", [401, 403])
    def test_no_error_shows_a_secret(
        self,
        provider: Provider,
        service: ScriptedService,
        status: int,
    ) -> None:
        service.script(Reply.error(status, f"invalid: {' '.join(self.secrets)}"))
        error = RunningCall(provider, model_call(QUESTION)).error()
        assert not any(secret in f"{error!r} {error.body} {provider!r}" for secret in self.secrets)

    # --- time

    @pytest.mark.parametrize("fault", ["hang", "stall", "trickle"])
    def test_the_deadline_ends_a_call(
        self,
        provider: Provider,
        service: ScriptedService,
        fault: Any,
    ) -> None:
        service.script(replace(_HELLO, text="hello " * 1000, fault=fault))
        assert RunningCall(provider, model_call(QUESTION, seconds=0.3)).error().kind == "network"

    def test_close_ends_a_call(self, provider: Provider, service: ScriptedService) -> None:
        service.script(Reply(fault="hang"))
        call = RunningCall(provider, model_call(QUESTION, seconds=3600))
        assert service.asked.wait(AT_ONCE)
        provider.close()
        call.error()
        provider.close()

    # --- streams

    @pytest.mark.parametrize("piece", [1, 7, 1000])
    def test_streamed_and_whole_are_the_same(
        self,
        streaming_provider: Provider,
        service: ScriptedService,
        piece: int,
    ) -> None:
        calls = TWO_CALLS if self.tools else ()
        reply = Reply("Grüße,\nline two 🙂\n", tool_calls=calls, stream=Stream(piece=piece))
        service.script(reply, reply)
        whole = streaming_provider.complete(model_call(QUESTION))
        arrived: list[StreamEvent | Delta] = []
        streamed = streaming_provider.complete(
            model_call(QUESTION, stream=True, progress=arrived.append)
        )
        assert_same(streamed, whole, self.answer(reply)[2])
        deltas = [event for event in arrived if isinstance(event, Delta)]
        texts = [delta.text for delta in deltas if delta.kind == "text"]
        assert "".join(texts) == reply.text
        assert len(texts) > 1 or piece >= len(reply.text)

    def test_a_delta_is_passed_on_as_it_arrives(
        self, streaming_provider: Provider, service: ScriptedService
    ) -> None:
        gate, heard = threading.Semaphore(0), threading.Semaphore(0)
        service.script(replace(_HELLO, stream=Stream(gate=gate)))

        def hear(event: StreamEvent | Delta) -> None:
            if _is_text(event):
                heard.release()

        call = model_call(QUESTION, stream=True, progress=hear)
        running = RunningCall(streaming_provider, call)
        gate.release(12)  # of more than twenty events
        assert heard.acquire(timeout=AT_ONCE), "no text arrives before the end of the reply"
        assert running.runs
        gate.release(999)
        assert running.completion().text == _HELLO.text

    @pytest.mark.parametrize("then", ["end", "drop", "reset"])
    @pytest.mark.parametrize("after", [0, 1, 5])
    def test_a_stream_that_breaks_off_is_a_network_error(
        self,
        streaming_provider: Provider,
        service: ScriptedService,
        after: int,
        then: Any,
    ) -> None:
        service.script(replace(_HELLO, stream=Stream(after=after, then=then)))
        assert _streaming(streaming_provider).error().kind == "network"

    def test_an_error_in_the_middle_of_a_stream(
        self, streaming_provider: Provider, service: ScriptedService
    ) -> None:
        events = [*self.stream_events(_HELLO, 5)]
        error = self.stream_error(Reply.error(500, "the reason"))
        service.script(replace(_HELLO, stream=Stream(events=(*events[: len(events) // 2], error))))
        assert _streaming(streaming_provider).error().kind == "server"

    @pytest.mark.parametrize("fault", ["trickle", None])
    def test_the_deadline_ends_a_stream(
        self,
        streaming_provider: Provider,
        service: ScriptedService,
        fault: Any,
    ) -> None:
        service.script(replace(_HELLO, fault=fault, stream=Stream(after=5, then="stall")))
        assert _streaming(streaming_provider, seconds=0.3).error().kind == "network"

    def test_close_ends_a_stream(
        self, streaming_provider: Provider, service: ScriptedService
    ) -> None:
        heard = threading.Event()
        service.script(replace(_HELLO, stream=Stream(after=9, then="stall")))
        call = _streaming(streaming_provider, seconds=3600, progress=lambda _: heard.set())
        assert heard.wait(AT_ONCE)
        streaming_provider.close()
        call.error()

    def test_a_reply_is_not_read_on_if_nobody_needs_the_rest(
        self, streaming_provider: Provider, service: ScriptedService
    ) -> None:
        def stop(arrived: StreamEvent | Delta) -> None:
            if _is_text(arrived):
                raise StopReading(lambda *_: pytest.fail("only the host takes the rest"))

        service.script(replace(_HELLO, stream=Stream(after=9, then="stall")), _HELLO)
        with pytest.raises(BaseException) as raised:  # noqa: PT011 - any error but that one is a mistake
            streaming_provider.complete(model_call(QUESTION, stream=True, progress=stop))
        assert raised.type is StopReading
        assert streaming_provider.complete(model_call(QUESTION)).text == _HELLO.text

    # --- the command

    @pytest.mark.parametrize("stream", ["never", "always"])
    def test_the_command_completes_a_run(
        self,
        service: ScriptedService,
        tmp_path: Path,
        plugins: Sequence[Path],
        stream: str,
    ) -> None:
        service.script(Reply("^^^a.txt\nnew\n^^^end\n"))
        project, finished = self._run(service, tmp_path, plugins, stream)
        assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
        if isinstance(service, ScriptedService):
            asked = self.streams and stream == "always"
            assert [self.asks_to_stream(request) for request in service.recorded] == [asked]

    def test_the_command_shows_no_secret(
        self,
        service: ScriptedService,
        tmp_path: Path,
        plugins: Sequence[Path],
    ) -> None:
        service.script(Reply.error(400, f"you sent {' '.join(self.secrets)}"))
        project, finished = self._run(service, tmp_path, plugins)
        assert finished.exit_code == 4, finished.stderr  # noqa: PLR2004 - provider_failed
        written = [
            file.read_text("utf-8", "replace")
            for file in (project.root / "logs").rglob("*")
            if file.is_file()
        ]
        assert written
        for secret in self.secrets:
            assert not any(secret in text for text in (finished.stdout, finished.stderr, *written))

    def _run(
        self,
        service: ScriptedService,
        folder: Path,
        plugins: Sequence[Path],
        stream: str = "never",
    ) -> tuple[Project, Finished]:
        if importlib.util.find_spec("code_commit_commit") is None:
            pytest.skip("the default workflow is not installed")
        project = Project.create(folder)
        model = f"{self.definition.name}.conformance"
        config = f"[providers.{model}]\n"
        for name, value in self.settings_for(service.address).items():
            config += f"{name} = {json.dumps(value)}\n"
        project.write({"agent-config/config.toml": config})
        environ = {**self.environ, "CODE_COMMIT_STREAM": stream}
        finished = project.command("--model", model, "--json", environ=environ, plugins=plugins)
        return project, finished


def _streaming(
    provider: Provider,
    *,
    seconds: float = 60,
    progress: Callable[[object], None] = lambda _: None,
) -> RunningCall:
    return RunningCall(
        provider, model_call(QUESTION, seconds=seconds, stream=True, progress=progress)
    )


def _is_text(arrived: StreamEvent | Delta) -> bool:
    return isinstance(arrived, Delta) and arrived.kind == "text"
