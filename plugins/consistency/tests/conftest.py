"""A project to report on, and a service with scripted answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, ScriptedServer, install_plugin

LOOPBACK = "from code_commit_testing.loopback_provider import code_commit_providers\n"


@dataclass(frozen=True)
class Review:
    """Runs the consistency workflow in `project` with the answers of `server`."""

    project: Project
    server: ScriptedServer
    plugins: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"LOOPBACK_BASE_URL": self.server.url("openai"), "CODE_COMMIT_MODEL": "loopback-1"}

    def __call__(self, *arguments: str) -> Finished:
        return self.project.command(
            *(arguments or ("--consistency-check",)), environ=self.environ, plugins=[self.plugins]
        )

    def config_files(self) -> dict[str, str]:
        """Return the files in agent-config, without the host's."""
        folder = self.project.root / "agent-config"
        return {
            path.name: path.read_bytes().decode()
            for path in folder.iterdir()
            if path.name != ".code-commit"
        }


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    plugins = install_plugin(tmp_path / "plugins", "loopback", LOOPBACK)
    files = {"UserSpecification.md": "Add.\n", "main.py": "print(1 - 1)\n"}
    rollup = "".join(f"--- {path} ---\n{text}" for path, text in files.items())
    project = Project.create(tmp_path, files=files, rollup=rollup)
    with ScriptedServer() as server:
        yield Review(project, server, plugins)
