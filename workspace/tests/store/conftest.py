"""A project with a real git, opened as a workspace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from code_commit_workspace import SandboxSettings, Workspace


@pytest.fixture(autouse=True)
def _own_git_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def git() -> Callable[..., bytes]:
    """Run git as a user does in a folder, and return its output."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")

    def run(root: Path, *args: str) -> bytes:
        return subprocess.run(
            ["git", *identity, *args], cwd=root, check=True, capture_output=True
        ).stdout

    return run


@pytest.fixture
def plant() -> Callable[..., None]:
    """Write files by path; None removes one."""

    def write(root: Path, files: dict[str, bytes | None]) -> None:
        for path, content in files.items():
            if content is None:
                (root / path).unlink()
            else:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(content)

    return write


@pytest.fixture
def root(tmp_path: Path, git_init: Callable[[Path], Path]) -> Path:
    root = git_init(tmp_path / "project")
    (root / "agent-config").mkdir()
    (root / ".gitignore").write_text("/agent-config\n/logs\n*.o\n")
    return root


@pytest.fixture
def opened() -> Callable[..., Workspace]:
    """Open a project for writing."""

    def open_project(root: Path, **options: object) -> Workspace:
        return Workspace.open(
            root,
            writes=True,
            private_folder="agent-config",
            sandbox=SandboxSettings(mode="off"),
            **options,  # type: ignore[arg-type]
        )

    return open_project


@pytest.fixture
def workspace(root: Path, opened: Callable[..., Workspace]) -> Iterator[Workspace]:
    with opened(root) as workspace:
        yield workspace
