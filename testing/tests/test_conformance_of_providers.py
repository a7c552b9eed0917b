"""The conformance tests on a `Provider` with connections of its own, and on ones with one mistake
each.
"""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, ConfigDict

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Message,
    ModelCall,
    ProviderDefinition,
    ProviderError,
    StreamEvent,
    Text,
    Usage,
    finish_of,
    hookimpl,
    reply_error,
    reply_member,
    reply_object,
    token_count,
)
from code_commit_testing import Reply, install_plugin, model_call
from code_commit_testing.conformance import CompleteConformance, ProviderConformance, wire_of
from code_commit_testing.conformance_samples import QUESTION
from code_commit_testing.running_call import RunningCall
from code_commit_testing.scripted_service import ScriptedService

OWN = ProviderDefinition(
    name="own",
    models={"own-1": ()},
    base_url="",
    base_url_variable=None,
    key_variable="OWN_KEY",
    key_header=("", "{key}"),
    config=f"{__name__}:OwnConfig",
    factory=f"{__name__}:OwnProvider",
)
KEY = "k-of-the-own-provider-0123456789"
FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH}


@hookimpl
def code_commit_providers():
    return [OWN]


class OwnConfig(BaseModel):
    model_config = ConfigDict(extra="forbid")
    model: str
    address: str


class OwnProvider:
    """Posts `{"system", "say", "limit", "stream"}`; the reply is a line of JSON, streamed one for
    each piece.
    """

    quotes = False
    looks_at_the_clock = True
    needs_an_end = True
    tries = 1

    def __init__(self, config) -> None:
        self.address = urlsplit(config.address).netloc
        self.ended: list[queue.SimpleQueue] = []
        self.closed = False

    def complete(self, call: ModelCall) -> Completion:
        for number in range(self.tries):
            try:
                return self.attempt(call)
            except ProviderError as error:
                if error.kind != "server" or number == self.tries - 1:
                    raise
        raise AssertionError

    def attempt(self, call: ModelCall) -> Completion:
        if self.closed:
            raise ProviderError("it is closed", kind="rejected")
        lines = queue.SimpleQueue()
        self.ended.append(lines)
        threading.Thread(target=self.post, args=(call, lines), daemon=True).start()
        status, headers = self.next(lines, call)
        text, last = "", {}
        while line := self.next(lines, call):
            last = reply_object(line, status, headers)
            if status >= 400 or "error" in last:
                wait = headers.get("retry-after")
                words = str(last.get("error"))
                if self.quotes and status in {401, 403}:
                    raise ProviderError(words, kind="auth")
                raise reply_error(
                    max(status, 400) if status != 200 else 500,
                    words=words,
                    retry_after=wait and int(wait),
                )
            piece = reply_member(last, "say", str) or ""
            text += piece
            call.progress(StreamEvent("", line))
            call.progress(Delta("text", piece))
        if self.needs_an_end and "done" not in last:
            raise ProviderError(
                "the reply ended early", kind="network" if call.stream else "invalid_response"
            )
        word = reply_member(last, "done", str) or ""
        parts = (Text(text),) if text else ()
        usage = Usage(token_count(last, "in"), token_count(last, "out"))
        return Completion(
            Message("assistant", parts), finish_of(word, parts, FINISH), word, usage, "own-1", last
        )

    def next(self, lines: queue.SimpleQueue, call: ModelCall):
        timeout = None
        if self.looks_at_the_clock:
            timeout = max(0, call.deadline - time.monotonic())
        try:
            line = lines.get(timeout=timeout)
        except queue.Empty:
            raise ProviderError("no time is left", kind="network") from None
        if isinstance(line, Exception):
            raise line
        return line

    def post(self, call: ModelCall, lines: queue.SimpleQueue) -> None:
        say = "".join(part.text for message in call.request.messages for part in message.parts)
        body = {
            "system": call.request.system,
            "say": say,
            "limit": call.request.max_tokens,
            "stream": call.stream,
        }
        connection = http.client.HTTPConnection(self.address)
        try:
            connection.request("POST", "/own", json.dumps(body), {"x-own-key": KEY})
            with connection.getresponse() as response:
                lines.put(
                    (
                        response.status,
                        {name.lower(): value for name, value in response.getheaders()},
                    )
                )
                if call.stream:
                    while line := response.readline():
                        lines.put(line)
                else:
                    lines.put(response.read())
            lines.put(b"")
        except (OSError, http.client.HTTPException) as error:
            lines.put(ProviderError(type(error).__name__, kind="network"))
        finally:
            connection.close()

    def close(self) -> None:
        self.closed = True
        for lines in self.ended:
            lines.put(ProviderError("it was closed", kind="rejected"))


class TestOwn(CompleteConformance):
    definition = OWN
    environ: ClassVar = {"OWN_KEY": KEY}
    secrets = (KEY,)
    tools = False
    unspoken = (Finish.PAUSED, Finish.REFUSED, Finish.FILTERED)
    stream_headers: ClassVar = {"content-type": "application/x-ndjson"}

    def settings_for(self, address):
        return {"model": "own-1", "address": address}

    @pytest.fixture
    def plugins(self, tmp_path):
        root = Path(__file__).parents[__name__.count(".")]
        code = f"import sys\nsys.path.insert(0, {str(root)!r})\nfrom {__name__} import code_commit_providers\n"
        return [install_plugin(tmp_path / "plugins", "own", code)]

    def answer(self, reply: Reply):
        if reply.status >= 400:
            return reply.status, reply.headers, json.dumps({"error": reply.text}).encode()
        return (
            reply.status,
            reply.headers,
            json.dumps({"say": reply.text, **self.end(reply)}).encode(),
        )

    def end(self, reply: Reply):
        words = {finish: word for word, finish in FINISH.items()} | {Finish.CUT: "a new word"}
        counted = {"in": reply.usage.input, "out": reply.usage.output} if reply.usage else {}
        finish = Finish.STOP if reply.finish is None else reply.finish
        return {"done": words[finish] if isinstance(finish, Finish) else finish, **counted}

    def stream_events(self, reply: Reply, piece: int):
        for start in range(0, len(reply.text), piece):
            yield json.dumps({"say": reply.text[start : start + piece]}).encode() + b"\n"
        yield json.dumps(self.end(reply)).encode() + b"\n"

    def stream_error(self, reply: Reply):
        return json.dumps({"error": reply.text}).encode() + b"\n"


class IgnoresClose(OwnProvider):
    def close(self):
        self.closed = True


class QuotesTheKey(OwnProvider):
    quotes = True


class HasNoClock(OwnProvider):
    looks_at_the_clock = False


class TakesAnyEnd(OwnProvider):
    needs_an_end = False


class TriesAgain(OwnProvider):
    tries = 3


class CatchesEverything(OwnProvider):
    def attempt(self, call):
        try:
            return super().attempt(call)
        except BaseException as error:
            raise ProviderError(str(error), kind="network") from error


class KeepsDeltas(OwnProvider):
    def attempt(self, call):
        arrived = []
        completion = super().attempt(replace(call, progress=arrived.append))
        for piece in arrived:
            call.progress(piece)
        return completion


@pytest.mark.parametrize(
    ("provider_class", "name", "arguments"),
    [
        (IgnoresClose, "close_ends_a_call", ()),
        (IgnoresClose, "close_ends_a_stream", ()),
        (QuotesTheKey, "no_error_shows_a_secret", (403,)),
        (HasNoClock, "the_deadline_ends_a_call", ("stall",)),
        (HasNoClock, "the_deadline_ends_a_stream", ("trickle",)),
        (TakesAnyEnd, "a_stream_that_breaks_off_is_a_network_error", (5, "end")),
        (TriesAgain, "errors_by_status", (500, "server")),
        (CatchesEverything, "a_reply_is_not_read_on_if_nobody_needs_the_rest", ()),
        (KeepsDeltas, "a_delta_is_passed_on_as_it_arrives", ()),
    ],
)
def test_a_mistake_is_found(provider_class, name, arguments, monkeypatch):
    for module in ("running_call", "conformance_provider"):
        monkeypatch.setattr(f"code_commit_testing.{module}.AT_ONCE", 0.5)
    suite = TestOwn()
    with ScriptedService(suite.respond) as service:
        provider = provider_class(OwnConfig.model_validate(suite.settings_for(service.address)))
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            getattr(suite, f"test_{name}")(provider, service, *arguments)


def test_a_call_that_does_not_end_does_not_keep_the_process(monkeypatch):
    monkeypatch.setattr("code_commit_testing.running_call.AT_ONCE", 0.01)
    end, before = threading.Event(), {*threading.enumerate()}
    call = RunningCall(SimpleNamespace(complete=lambda _: end.wait()), model_call(QUESTION))
    [thread] = {*threading.enumerate()} - before
    try:
        with pytest.raises(pytest.fail.Exception, match="does not end"):
            call.completion()
        assert (call.runs, thread.daemon) == (True, True)
    finally:
        end.set()


@pytest.mark.parametrize(
    ("suite", "name", "arguments", "words"),
    [
        (ProviderConformance, "answer", [Reply("hi")], "set `protocol`, or override `answer`"),
        (ProviderConformance, "count_answer", [1], "override `count_answer`"),
        (ProviderConformance, "stream_events", [Reply("hi"), 1], "override `stream_events`"),
        (CompleteConformance, "settings_for", ["http://127.0.0.1:9"], "override `settings_for`"),
        (CompleteConformance, "answer", [Reply("hi")], "override `answer`"),
        (
            CompleteConformance,
            "stream_events",
            [Reply("hi"), 1],
            "override `stream_events`, or set `streams` to False",
        ),
    ],
)
def test_a_suite_names_what_to_override(suite, name, arguments, words):
    with pytest.raises(NotImplementedError, match=words):
        getattr(suite(), name)(*arguments)


def test_the_class_for_a_wire_names_the_one_for_a_provider():
    with pytest.raises(AssertionError, match="CompleteConformance"):
        wire_of(OWN, {"model": "own-1", "address": "http://127.0.0.1:9"})
