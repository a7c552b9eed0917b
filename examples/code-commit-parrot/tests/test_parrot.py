"""Parrot in the conformance tests, and in a whole run."""

from __future__ import annotations

import json
from collections.abc import Iterator

from code_commit.plugin_api import Finish, StreamEvent
from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance import ProviderConformance

from code_commit_parrot.plugin import PARROT

ENDINGS = {
    Finish.STOP: "done",
    Finish.TOOL_CALLS: "calls",
    Finish.LENGTH: "too_long",
    Finish.REFUSED: "declined",
    Finish.FILTERED: "blocked",
    Finish.CUT: "a new word",
}


def encode_reply(reply: Reply) -> bytes:
    if reply.status >= 400:
        return json.dumps({"problem": reply.text}).encode()
    finish = reply.finish
    if finish is None:
        finish = Finish.TOOL_CALLS if reply.tool_calls else Finish.STOP
    answer = {
        "model": "parrot-large",
        "say": reply.text,
        "calls": [
            {"id": call.id, "tool": call.name, "arguments": call.raw or json.dumps(call.arguments)}
            for call in reply.tool_calls
        ],
        "ending": ENDINGS[finish] if isinstance(finish, Finish) else finish,
    }
    if reply.usage is not None:
        answer["tokens"] = {"in": reply.usage.input, "out": reply.usage.output}
    return json.dumps(answer).encode()


def encode_events(reply: Reply, size: int) -> Iterator[StreamEvent]:
    whole = json.loads(encode_reply(reply))
    for part in pieces(whole.pop("say"), size):
        yield StreamEvent("say", json.dumps({"say": part}).encode())
    for call in whole.pop("calls"):
        for number, part in enumerate(pieces(call["arguments"], size) or [""]):
            first = {} if number else {"tool": call["tool"]}
            yield StreamEvent(
                "call", json.dumps({"id": call["id"], **first, "arguments": part}).encode()
            )
    yield StreamEvent("end", json.dumps(whole).encode())


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


class TestParrot(ProviderConformance):
    definition = PARROT
    settings = {"model": "parrot-large"}
    thinks = False
    reports_cache = False

    def answer(self, reply):
        return reply.status, reply.headers, encode_reply(reply)

    def stream_events(self, reply, piece):
        return encode_events(reply, piece)

    def stream_error(self, reply):
        return StreamEvent("problem", encode_reply(reply))


def test_a_whole_run(tmp_path):
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    answer = Reply(body=encode_reply(Reply("^^^a.txt\ngood\n^^^end\n")))
    with ScriptedServer([answer]) as server:
        environ = {"PARROT_BASE_URL": server.address, "PARROT_API_KEY": "a key for a test"}
        finished = project.command("--model", "parrot", environ=environ)
        requests = server.requests
    assert (finished.exit_code, project.read("a.txt")) == (0, "good\n"), finished.stderr
    assert [request.path for request in requests] == ["/replies"]
    assert requests[0].headers["authorization"] == "Bearer a key for a test"
