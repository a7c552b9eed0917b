"""Small repositories, a scripted service, and the command `fleet` on them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

IDENTITY = {
    f"GIT_{who}_{what}": "test@example.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
KEY = "sk-test-Qk7vT2mWz9XpLr4N"


class Fleet:
    """A folder with repositories and a fleet file. `server` answers every model."""

    def __init__(self, folder: Path, server: ScriptedServer):
        self.home = Project.create(
            folder, rollup=None, query=None, build="grep -q new a.txt || { echo 'error: no new'; exit 1; }\n"
        )
        self.folder = folder
        self.server = server
        self.file = folder / "fleet.toml"

    @staticmethod
    def good(_request=None) -> Reply:
        return Reply(text="^^^a.txt\nnew\n^^^end\n", delay=0)

    @staticmethod
    def bad(_request=None) -> Reply:
        return Reply(text="^^^a.txt\nworse\n^^^end\n", delay=0)

    KEY = KEY

    def commit(self, repository: Path) -> None:
        Project(repository, self.home.home).git("commit", "-aqm", "more")

    def repositories(self, *names: str) -> list[Path]:
        """Make repositories with one file, whose build wants it to be new."""
        for name in names:
            target = self.folder / name
            shutil.copytree(self.home.root, target, symlinks=True)
            Project(target, self.home.home).git("add", "-A")
        return [self.folder / name for name in names]

    def write(self, *names: str, head: str = "", repository: str = "") -> None:
        """Write a fleet file for these repositories."""
        lines = [
            'query = "Make a.txt new."',
            *([] if "models" in head else ['models = ["gpt-4.1"]']),
            "repairs = 0",
            head,
        ]
        lines += [f'[[repository]]\nurl = "{name}"\n{repository}' for name in names]
        self.file.write_text("\n".join(lines))

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **self.server.environment(),
            "OPENAI_API_KEY": KEY,
            "NO_COLOR": "1",
            **IDENTITY,
            "TMPDIR": str(self.tmp),
            **more,
        }

    @property
    def tmp(self) -> Path:
        (self.folder / "tmp").mkdir(exist_ok=True)
        return self.folder / "tmp"

    def command(self, *arguments: str, timeout: float = 120, cold: bool = False, **more: str):
        """Run `code-commit fleet …`."""
        return self.home.command(
            "fleet", *arguments, environ=self.environment(**more), cwd=self.folder, timeout=timeout, cold=cold
        )

    def run(self, *arguments: str, **more: str):
        return self.command("run", "fleet.toml", "--json", *arguments, **more)

    @property
    def lines(self) -> list[dict]:
        """The lines of units.jsonl."""
        return [json.loads(line) for line in (self.folder / "fleet.fleet/units.jsonl").read_text().splitlines()]

    def outcomes(self) -> dict[str, str]:
        return {row["repository"]: row["outcome"] for row in self.lines}


@pytest.fixture
def fleet(tmp_path):
    with ScriptedServer() as server:
        yield Fleet(tmp_path, server)
