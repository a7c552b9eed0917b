"""A decoder that cannot tell whether the service's own end came: what a connection that breaks
costs then.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from code_commit.models.http import Endpoint, HttpProvider
from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    HttpCall,
    Message,
    PartialReply,
    ProviderDefinition,
    ProviderError,
    Request,
    StopReading,
    StreamEvent,
    Text,
    Usage,
)
from code_commit_testing import model_call
from code_commit_testing.raw_server import RawServer

DEFINITION = ProviderDefinition(
    "plain", {}, "https://x.invalid", None, None, ("x-key", "{key}"), "u:U", "u:U"
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
HELLO, END = b"d\r\ndata: hello\n\n\r\n", b"0\r\n\r\n"


class Wire:
    """Each event is a piece of text. Its own decoder; `usage` is what the completion has."""

    def __init__(self, usage: Usage) -> None:
        self.usage, self.text = usage, ""

    def encode(self, request: Request) -> HttpCall:
        return HttpCall("/ask", {})

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        raise AssertionError("it streams")

    encode_stream = encode

    def stream(self) -> Wire:
        return self

    def feed(self, event: StreamEvent) -> list[Delta]:
        self.text += event.data.decode()
        return [Delta("text", event.data.decode())]

    def finish(self) -> Completion:
        if not self.text:
            raise ProviderError("the reply broke off", kind="network")
        return Completion(
            Message("assistant", (Text(self.text),)), Finish.STOP, "", self.usage, "m", {}
        )

    def partial(self) -> PartialReply:
        return PartialReply(self.text, self.usage)


def test_a_reply_that_is_not_read_to_its_end_keeps_the_tokens_that_were_told():
    def stop(item):
        if isinstance(item, Delta):
            raise StopReading(lambda *_: None)

    with RawServer([HEAD + HELLO]) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address), Wire(Usage(7)))
        with pytest.raises(StopReading) as caught:
            provider.complete(model_call("?", stream=True, progress=stop))
        provider.close()
    assert caught.value.usage == Usage(7)


@pytest.mark.parametrize(
    ("script", "usage", "warned"),
    [
        ([HEAD + HELLO], Usage(), True),
        ([HEAD + HELLO], Usage(1, 2), False),
        ([HEAD + HELLO + END], Usage(), False),
    ],
)
def test_a_connection_that_breaks_before_the_tokens_came_is_warned_of(script, usage, warned):
    warnings: list[str] = []
    with RawServer(script) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address), Wire(usage))
        completion = provider.complete(
            model_call("?", stream=True, progress=lambda _: None, warn=warnings.append)
        )
        provider.close()
    warning = (
        "the connection to plain broke off after the reply, before the number of its tokens came"
    )
    assert (completion.text, warnings) == ("hello", [warning] * warned)


@pytest.mark.parametrize(
    ("end", "says"), [(b"", "the connection was lost"), (END, "the reply broke off")]
)
def test_the_broken_connection_is_the_reason_where_there_is_one(end, says):
    with RawServer([HEAD + end]) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address), Wire(Usage()))
        with pytest.raises(ProviderError, match=says) as caught:
            provider.complete(model_call("?", stream=True))
        provider.close()
    assert (caught.value.kind, caught.value.body) == ("network", "")
