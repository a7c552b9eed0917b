"""The layer by itself, and in a whole run."""

from __future__ import annotations

import signal
import time

import pytest
from code_commit_testing import Project, Reply, ScriptedProvider, ScriptedServer, model_call

from code_commit_rate_limit.plugin import RateLimit


@pytest.mark.parametrize(("calls", "waits"), [(1, [60, 120]), (2, [60]), (3, [])])
def test_a_call_above_the_limit_waits(calls, waits, monkeypatch):
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    provider = ScriptedProvider(["1", "2", "3"])
    layer = RateLimit(calls)
    waited = []
    answers = [layer(model_call("?", wait=waited.append), provider.complete).text for _ in range(3)]
    assert answers == ["1", "2", "3"]
    assert waited == waits


def test_ctrl_c_ends_the_wait(tmp_path):
    project = Project.create(tmp_path, build="exit 1\n")
    project.write({"agent-config/config.toml": "[plugins.rate-limit]\ncalls_per_minute = 1\n"})
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        with project.start("--model", "gpt-5", environ=server.environment()) as process:
            end = time.monotonic() + 60
            while (
                not list(project.root.glob("logs/*/2-repair-query.txt")) and time.monotonic() < end
            ):
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 130
    assert len(server.requests) == 1
