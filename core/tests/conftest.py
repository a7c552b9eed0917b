"""A project, and a run log with keys that must not show."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from code_commit.log.run_log import RunLog
from code_commit.plugin_api.errors import ExitCode
from code_commit_testing import Project, ScriptedServer, install_plugin
from code_commit_workspace import Redactor

_ASKING = """
from code_commit.plugin_api import (
    Flag,
    Message,
    Outcome,
    ProviderFailed,
    Request,
    Result,
    Text,
    WorkflowDefinition,
    hookimpl,
)
from code_commit_testing.loopback_provider import code_commit_providers


@hookimpl
def code_commit_workflows():
    flag = Flag(("--ask",), "ask twice", selects=True)
    return [WorkflowDefinition("asking", "ask twice", (flag,), "asking_plugin:run", writes=False)]


def run(run):
    answers = []
    for prompt in ("one", "two"):
        try:
            answers.append(
                run.model().complete(Request((Message("user", (Text(prompt),)),)), label="ask").text
            )
        except ProviderFailed as error:
            if error.kind is None:
                raise
            answers.append(f"failed: {error.kind}")
    return Result(Outcome.REACHED, "done", {"answers": answers})
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a project of its own for each test."""
    return Project.create(tmp_path / "made")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Return a service without replies: a test scripts them."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def key() -> str:
    """Return a key that the run logs of `open_log` hide."""
    return 'sk-live"\\key/0123'


@pytest.fixture(scope="session")
def open_log(key: str) -> Callable[..., RunLog]:
    """Return a function that opens a run log in a folder."""

    def open_log(root: Path, workflow: str = "committing-code", **more: Any) -> RunLog:
        log = RunLog(root, workflow, redactor=Redactor([key, "plainkey42"]), **more)
        log.sender.set(("test", "code-commit-test"))
        return log

    return open_log


@pytest.fixture
def log(tmp_path: Path, open_log: Callable[..., RunLog]) -> Iterator[RunLog]:
    log = open_log(tmp_path)
    yield log
    log.finish(ExitCode.REACHED, "over")


@pytest.fixture
def no_sandbox(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a machine where bubblewrap does not work."""
    folder = tmp_path / "no-sandbox"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def asking(tmp_path: Path) -> Path:
    """Return a folder of plugins with a workflow that asks twice."""
    return install_plugin(tmp_path / "plugins", "asking", _ASKING)
