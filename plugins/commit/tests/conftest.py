"""A project and a model with scripted answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, install_plugin

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"


@dataclass(frozen=True)
class Change:
    """Runs the commit workflow in `project` with scripted answers. The build passes if a.txt contains "good"."""

    project: Project
    plugins: Path

    def __call__(self, answers: Sequence[str], *arguments: str, settings: str = "") -> Finished:
        self.script(answers, settings)
        return self.project.command(*arguments, plugins=[self.plugins])

    def script(self, answers: Sequence[str], settings: str = "") -> None:
        model = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\n'
        config = f"{model}replies = {json.dumps(answers)}\n{settings}\n"
        self.project.write({"agent-config/config.toml": config})

    def prompts(self) -> list[str]:
        """Return the prompts of the latest run."""
        files = self.project.run_folder.glob("[0-9]*-query.txt")
        return [path.read_text() for path in sorted(files, key=lambda path: int(path.name.split("-")[0]))]

    def result(self) -> dict[str, object]:
        """Return the `data` of the latest run."""
        document = json.loads((self.project.run_folder / "run.json").read_bytes())
        return dict(document["data"])


@pytest.fixture
def change(tmp_path: Path) -> Change:
    build = 'echo "looking at a.txt"; echo "complaint about $(cat a.txt)" >&2; grep -q good a.txt\n'
    plugins = install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)
    return Change(Project.create(tmp_path, build=build), plugins)
