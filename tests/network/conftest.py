"""A commit whose model is behind a network: it may fail, and must not get the key elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, ScriptedServer

MODELS = {
    "openai": ("gpt-5", "OPENAI_API_KEY"),
    "anthropic": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY"),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "made")


@pytest.fixture
def key() -> str:
    return "sk-network-0123456789-canary-Zq7"


@pytest.fixture
def commit(project: Project, key, key_traces):
    """Return a function that runs a commit, at most 60 seconds, and searches all its output for the
    key.
    """

    def run(
        server: ScriptedServer | None = None, *, provider: str = "openai", **environ: str
    ) -> Finished:
        model, variable = MODELS[provider]
        services = {
            variable: key,
            "CODE_COMMIT_SANDBOX": "off",
            **(server.environment() if server else {}),
            **environ,
        }
        finished = project.command("--json", "--model", model, environ=services, timeout=60)
        assert key_traces(project, finished, key) == {}
        assert "Traceback" not in finished.stderr
        last = finished.events[-1]
        assert (last["kind"], last["data"]["exit_code"]) == ("run.finished", finished.exit_code)
        return finished

    return run
