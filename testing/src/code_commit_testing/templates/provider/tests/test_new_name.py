"""The provider in the conformance tests, and in a whole run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from code_commit.plugin_api import Finish
from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance import ProviderConformance

from code_commit_new_name.plugin import PROVIDER
from code_commit_new_name.wire import FINISH

WORDS = {finish: word for word, finish in FINISH.items()}


def encode_reply(reply: Reply) -> bytes:
    """Return a reply in the service's protocol."""
    if reply.status >= 400:
        return json.dumps({"problem": reply.text}).encode()
    finish = reply.finish
    if finish is None:
        finish = Finish.TOOL_CALLS if reply.tool_calls else Finish.STOP
    answer: dict[str, object] = {
        "model": "new-name-large",
        "text": reply.text,
        "calls": [
            {"id": call.id, "tool": call.name, "arguments": call.raw or json.dumps(call.arguments)}
            for call in reply.tool_calls
        ],
        "finish": WORDS.get(finish, "a new word") if isinstance(finish, Finish) else finish,
    }
    if reply.usage is not None:
        answer["tokens"] = {"in": reply.usage.input, "out": reply.usage.output}
    return json.dumps(answer).encode()


class TestNewName(ProviderConformance):
    """What every provider must do."""

    definition = PROVIDER
    settings: ClassVar = {"model": "new-name-large"}
    thinks = False
    reports_cache = False

    def answer(self, reply: Reply) -> tuple[int, Mapping[str, str], bytes]:
        return reply.status, reply.headers, encode_reply(reply)


def test_a_whole_run(tmp_path: Path) -> None:
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    answer = Reply(body=encode_reply(Reply("^^^a.txt\ngood\n^^^end\n")))
    with ScriptedServer([answer]) as server:
        environ = {
            "NEW_NAME_BASE_URL": server.address,
            "NEW_NAME_API_KEY": "key-for-a-test",
        }
        finished = project.command("--model", "new-name", environ=environ)
        [request] = server.requests
    assert (finished.exit_code, project.read("a.txt")) == (0, "good\n"), finished.stderr
    assert request.path == "/replies"
    assert request.headers["authorization"] == "Bearer key-for-a-test"
