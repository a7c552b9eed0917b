"""The home folder, the project and the sandbox, under the names that these tests use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.records import ProcessResult

Run = Callable[..., ProcessResult]


@pytest.fixture
def home(sandbox_home: Path) -> Path:
    return sandbox_home


@pytest.fixture
def project(sandbox_project: Path) -> Path:
    return sandbox_project


@pytest.fixture
def run(sandboxed: Run) -> Run:
    return sandboxed
