"""The layer by itself, and in a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_commit.plugin_api import LimitReached
from code_commit_testing import Project, Reply, ScriptedProvider, ScriptedServer, model_call

from code_commit_new_name.layer import CallLimit


def test_calls_pass_up_to_the_limit() -> None:
    provider, layer = ScriptedProvider(["one", "two", "three"]), CallLimit(2)
    assert [layer(model_call("?"), provider.complete).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(LimitReached):
        layer(model_call("?"), provider.complete)
    assert len(provider.requests) == 2


def test_a_run_ends_at_the_limit(tmp_path: Path) -> None:
    project = Project.create(tmp_path, build="exit 1\n")
    project.write({"agent-config/config.toml": "[plugins.new-name]\nmax_calls = 2\n"})
    answers = [Reply(f"^^^a.txt\n{number}\n^^^end\n") for number in range(4)]
    with ScriptedServer(answers) as server:
        finished = project.command("--model", "gpt-5", "--json", environ=server.environment())
        assert len(server.requests) == 2, finished.stderr
    assert finished.events[-1]["data"]["outcome"] == "limit"
    assert "the limit of model calls (2) is reached" in finished.stderr
