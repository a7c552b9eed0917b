"""Heron in the conformance tests, and in a run whose token expires."""

import json

from code_commit.plugin_api import Finish
from code_commit_testing import Project, Reply, ScriptedServer, TokenEndpoint
from code_commit_testing.conformance import ProviderConformance

from code_commit_heron.plugin import HERON

ENDS = {Finish.LENGTH: "length", Finish.FILTERED: "content_filter", Finish.CUT: "a new word"}


def body_of(reply: Reply) -> bytes:
    if reply.status >= 400:
        return json.dumps({"error": reply.text}).encode()
    end = reply.finish if isinstance(reply.finish, str) else ENDS.get(reply.finish, "stop")
    tokens = {"in": reply.usage.input, "out": reply.usage.output} if reply.usage else {}
    answer = {"text": reply.text, "end": end, "model": reply.model or "heron-1", **tokens}
    return json.dumps(answer).encode()


class TestHeron(ProviderConformance):
    definition = HERON
    settings = {"model": "heron-1"}
    unspoken = (Finish.PAUSED, Finish.REFUSED)
    tools = False
    thinks = False
    reports_cache = False

    def answer(self, reply):
        return reply.status, reply.headers, body_of(reply)

    def settings_at(self, address):
        return {**self.settings, "token_url": f"{address}/oauth/token"}


def test_a_token_that_expires_in_a_run_is_renewed_and_not_shown(tmp_path):
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    endpoint = TokenEndpoint()
    bad, good = [
        Reply(body=body_of(Reply(f"^^^a.txt\n{word}\n^^^end\n"))) for word in ("bad", "good")
    ]
    expired = Reply(status=401, body=b'{"error": "token/of+the+endpoint-0001 expired"}')
    with ScriptedServer([bad, expired, good], endpoints={"/oauth/token": endpoint}) as server:
        config = f'[providers.heron.default]\ntoken_url = "{server.address}/oauth/token"\n'
        project.write({"agent-config/config.toml": config})
        environ = {"HERON_BASE_URL": server.address, "HERON_CLIENT_SECRET": "a secret of a test"}
        finished = project.command("--model", "heron-1", "--json", environ=environ)
        sent = [request.headers["authorization"] for request in server.requests]
    assert (finished.exit_code, project.read("a.txt")) == (0, "good\n"), finished.stderr
    assert sent == [f"Bearer {endpoint.token(number)}" for number in (1, 1, 2)]
    files = [file for file in project.root.rglob("*") if file.is_file()]
    texts = [
        finished.stdout,
        finished.stderr,
        *(file.read_text("utf-8", "replace") for file in files),
    ]
    assert not [text for text in texts if endpoint.token(1) in text or endpoint.token(2) in text]
