"""The layer in whole runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from code_commit.plugin_api import Finish, Usage
from code_commit_testing import Project, Reply, ScriptedServer

CONFIG = """
[plugins.fallback]
model = "openai.backup"
[providers.openai.backup]
model = "gpt-5-mini"
api_key = "sk-of-the-backup-0123456789"
base_url = "{address}"
"""
ANSWER = Reply("^^^a.txt\nnew\n^^^end\n")
REFUSAL = Reply("I cannot help with that.", finish=Finish.REFUSED)
KEYS = {"OPENAI_API_KEY": "sk-of-the-first-0123456789"}


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


def run(folder, server, *flags, config=CONFIG):
    project = Project.create(folder)
    config = config.format(address=server.url("openai"))
    project.write({"agent-config/config.toml": config})
    flags = ("--model", "gpt-5", "--json", *flags)
    return project, project.command(*flags, environ={**server.environment(), **KEYS})


def finished_calls(finished):
    calls = [event["data"] for event in finished.events if event["kind"] == "call.finished"]
    return {call["number"]: call for call in calls}


def test_the_second_model_answers_what_the_first_refuses(tmp_path, server):
    server.script(REFUSAL, ANSWER)
    project, finished = run(tmp_path, server, "--max-cost", "5")
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert [request.model for request in server.requests] == ["gpt-5", "gpt-5-mini"]
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == [f"Bearer sk-of-the-{name}-0123456789" for name in ("first", "backup")]
    calls = finished_calls(finished)
    assert [calls[number]["model"] for number in (1, 2)] == ["gpt-5", "gpt-5-mini"]
    assert all(calls[number]["input_tokens"] == 10 for number in (1, 2))
    assert calls[1]["cost_usd"] > calls[2]["cost_usd"] > 0


def test_both_models_have_one_limit(tmp_path, server):
    server.script(replace(REFUSAL, usage=Usage(input=10, output=30_000)), ANSWER)
    _, finished = run(tmp_path, server, "--max-cost", "0.33")
    assert (finished.exit_code, len(server.requests)) == (6, 1), finished.stderr


def test_a_second_model_without_a_key_ends_the_run_before_it(tmp_path, server):
    _, finished = run(tmp_path, server, config='[plugins.fallback]\nmodel = "openai.other"\n')
    assert (finished.exit_code, server.requests) == (3, []), finished.stderr
    assert "code-commit-fallback" in finished.stderr
