"""Projects whose files a context chooses: one in memory, and one with a run around it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Project, ScriptedServer, install_plugin

# A workflow that chooses files with the contexts of all plugins, as the commit workflow does.
CHOOSING = """
import json
from pydantic import BaseModel
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl
from code_commit_testing.loopback_provider import code_commit_providers


class Options(BaseModel):
    choose: str


@hookimpl
def code_commit_workflows():
    flag = Flag(("--choose",), "what", metavar="JSON", selects=True)
    roles = ("default", "navigator")
    return [
        WorkflowDefinition(
            "choosing",
            "choose",
            (flag,),
            "choosing_plugin:choose",
            options="choosing_plugin:Options",
            roles=roles,
        )
    ]


def choose(run):
    from code_commit_commit.hooks import ContextRequest

    wanted = json.loads(run.options.choose)
    [context] = [
        context
        for _, context in run.collect("code_commit_contexts")
        if context.name == wanted["context"]
    ]
    request = ContextRequest(
        project=run,
        query=wanted["query"],
        paths=run.files(),
        tokens=wanted["tokens"],
        named=wanted["named"],
        model=run.model if wanted["calls"] else None,
    )
    selection = context.choose(request)
    related = context.related(request, wanted["failure"], wanted["changed"])
    names = {path: list(names) for path, names in selection.map.items()}
    data = {"paths": list(selection.paths), "map": names, "related": list(related)}
    return Result(Outcome.REACHED, "chosen", data | {"reason": selection.reason})
"""


@dataclass
class Files:
    """A project in memory, without a past. It is its own tree."""

    files: Mapping[str, bytes]
    log: bytes = b""

    @property
    def tree(self) -> Files:
        return self

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        for path in paths:
            content = self.files.get(path)
            yield path, None if content is None or len(content) > limit else content

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        content = self.files.get(path)
        if content is None:
            return None
        return content[start:][:limit]

    def git(self, *args: str, **options: object) -> bytes:
        return self.log

    def may_read(self, path: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a context chose."""

    exit_code: int
    paths: Sequence[str]
    map: Mapping[str, Sequence[str]]
    related: Sequence[str]
    reason: str
    stderr: str


@dataclass(frozen=True)
class Choosing:
    """Chooses files of `project` in a run; `server` answers its calls."""

    project: Project
    server: ScriptedServer
    plugins: Path

    def __call__(
        self,
        query: str,
        *,
        context: str = "ranked",
        tokens: int = 1000,
        named: Sequence[str] = (),
        calls: bool = True,
        failure: str = "",
        changed: Sequence[str] = (),
    ) -> Choice:
        wanted = {
            "context": context,
            "query": query,
            "tokens": tokens,
            "named": named,
            "calls": calls,
            "failure": failure,
            "changed": changed,
        }
        finished = self.project.command(
            "--choose",
            json.dumps(wanted),
            "--json",
            environ={
                "LOOPBACK_BASE_URL": self.server.url("openai"),
                "CODE_COMMIT_MODEL": "loopback-1",
            },
            plugins=[self.plugins],
        )
        data: Any = finished.events[-1]["data"].get("data") or {}
        return Choice(
            finished.exit_code,
            data.get("paths", ()),
            data.get("map", {}),
            data.get("related", ()),
            data.get("reason", ""),
            finished.stderr,
        )

    def commit(self, message: str, files: Mapping[str, str]) -> None:
        """Write files, and commit them."""
        self.project.write(files)
        self.project.git("add", "-A")
        self.project.git("commit", "-q", "-m", message)


@pytest.fixture(scope="session")
def in_memory() -> type[Files]:
    return Files


@pytest.fixture
def choosing(tmp_path: Path) -> Iterator[Choosing]:
    project = Project.create(tmp_path, files={})
    plugins = install_plugin(tmp_path / "plugins", "choosing", CHOOSING)
    with ScriptedServer([]) as server:
        yield Choosing(project, server, plugins)
