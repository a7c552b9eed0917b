"""The service's own count of tokens, where a call comes near a limit."""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

KEYS = {
    "GEMINI_API_KEY": "AIzaSy-canary-0123456789-key7Q",
    "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789-key7Q",
}
SERVICES = {
    "gemini-2.5-pro": (":countTokens", "totalTokens"),
    "claude-sonnet-4-5": ("/v1/messages/count_tokens", "input_tokens"),
}
GOOD = "^^^a.txt\ngood\n^^^end\n"
CODE = "--- a.txt ---\n" + "words of a text\n" * 60_000  # about 300,000 tokens


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path)


def run(project, server, model, *arguments):
    environ = {**KEYS, **server.environment()}
    return project.command("--model", model, "--dry-run", *arguments, environ=environ)


def counted(member, tokens):
    return Reply(body=json.dumps({member: tokens}).encode())


@pytest.mark.parametrize("model", SERVICES)
def test_max_cost_near_the_limit_asks_the_service(project, model) -> None:
    path, member = SERVICES[model]
    project.write({"agent-config/codeRollup.txt": "--- a.txt ---\nold\n" + CODE[:400_000]})
    limit = {"gemini-2.5-pro": "0.50", "claude-sonnet-4-5": "0.90"}[model]
    with ScriptedServer([counted(member, 90_000), Reply(GOOD)]) as server:
        assert run(project, server, model, "--max-cost", limit).exit_code == 0
        question, call = server.requests
        assert question.path.endswith(path)
        assert "words of a text" in question.body.decode()
        assert not call.path.endswith(path)


def test_a_failed_count_is_an_estimate(project) -> None:
    project.write({"agent-config/codeRollup.txt": "--- a.txt ---\nold\n" + CODE[:400_000]})
    with ScriptedServer([Reply.error(500), Reply(GOOD)]) as server:
        finished = run(project, server, "gemini-2.5-pro", "--max-cost", "0.50")
        assert (finished.exit_code, len(server.requests)) == (6, 1)
        assert "the next call could cost up to $" in finished.stderr


@pytest.mark.parametrize(("tokens", "exit_code"), [(190_000, 0), (210_000, 3)])
def test_a_prompt_near_the_window_is_counted(project, tokens, exit_code) -> None:
    project.write({"agent-config/codeRollup.txt": "--- a.txt ---\nold\n" + CODE[:600_000]})
    with ScriptedServer([counted("input_tokens", tokens), Reply(GOOD)]) as server:
        finished = run(project, server, "claude-sonnet-4-5")
        assert (finished.exit_code, len(server.requests)) == (exit_code, 2 - bool(exit_code))
    if exit_code:
        assert (
            f"about {tokens:,} tokens, and claude-sonnet-4-5 reads at most 200,000"
            in finished.stderr
        )
