"""A project with a task and a service with scripted answers; and the code of an answer by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from code_commit_tasks.runtime.script import (
    CallAnswer,
    ScriptFailed,
    ScriptFunction,
    ScriptLimits,
    run_script,
)
from code_commit_testing import Finished, Project, ScriptedServer, install_plugin

LOOPBACK = "from code_commit_testing.loopback_provider import code_commit_providers\n"


@dataclass(frozen=True)
class Work:
    """Runs the task workflow in `project` with the answers of `server`."""

    project: Project
    server: ScriptedServer
    plugins: Path

    @staticmethod
    def code(body: str) -> str:
        """Return a reply whose function has this body."""
        return f"```typescript\nasync function agent_code(): Promise<any> {{\n{body}\n}}\n```\n"

    @staticmethod
    def returns(value: Any) -> str:
        """Return a reply whose function returns this value."""
        return Work.code(f"return {json.dumps(value)};")

    @staticmethod
    def step(title: str = "look", requirement: Any = None, **more: Any) -> dict[str, Any]:
        """Return a step of a list; by default it accepts any result."""
        words = {"title": title, "description": f"Please {title}.", "step_type": "research"}
        return {
            **words,
            "exit_requirement": requirement or {"type": "pattern", "pattern": "^"},
            **more,
        }

    @staticmethod
    def callback(name: str, **args: Any) -> dict[str, Any]:
        """Return an exit requirement."""
        return {"type": "callback", "function_name": name, "args": args}

    @staticmethod
    def listed(*steps: dict[str, Any]) -> str:
        """Return a reply that divides the task into steps."""
        return Work.returns({"title": "the whole", "steps": list(steps)})

    @staticmethod
    def events_of(finished: Finished, kind: str) -> list[dict[str, Any]]:
        """Return the data of all events of a kind."""
        return [event["data"] for event in finished.events if event["kind"] == kind]

    def __call__(
        self,
        *arguments: str,
        environ: dict[str, str] | None = None,
        more_plugins: Sequence[Path] = (),
        **more: Any,
    ) -> Finished:
        environ = {
            "LOOPBACK_BASE_URL": self.server.url("openai"),
            "CODE_COMMIT_MODEL": "loopback-1",
            **(environ or {}),
        }
        if not {"--task", "--task-file", "--resume"} & set(arguments):
            arguments = ("--task", "Do it.", *arguments)
        if "--sandbox" not in arguments:
            arguments = ("--sandbox", "off", *arguments)
        return self.project.command(
            *arguments, environ=environ, plugins=[*more_plugins, self.plugins], **more
        )

    def configure(self, **settings: Any) -> None:
        """Write the section `[plugins.tasks]`."""
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
        self.project.write({"agent-config/config.toml": f"[plugins.tasks]\n{lines}"})

    @property
    def prompts(self) -> list[str]:
        """Return the prompts of the agents, without the system prompt."""
        return [request.prompt for request in self.server.requests]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Work]:
    plugins = install_plugin(tmp_path / "plugins", "loopback", LOOPBACK)
    project = Project.create(
        tmp_path, files={"README.md": "one\ntwo\n", "src/main.py": "print(1)\n"}
    )
    with ScriptedServer() as server:
        yield Work(project, server, plugins)


class Script:
    """Runs the body of an answer's function, or with `whole` all of its code, without a workflow."""

    SHOW = ScriptFunction("show", ("path",))
    LIST = ScriptFunction("list", ("path",), json=True)
    PATIENT = ScriptLimits(seconds=60, memory=256 * 1024 * 1024, calls=100)
    HASTY = ScriptLimits(seconds=0.4, memory=256 * 1024 * 1024, calls=100)

    @staticmethod
    def code(body: str) -> str:
        """Return the code of a function with this body."""
        return f"async function agent_code(): Promise<any> {{\n{body}\n}}"

    @classmethod
    def run(
        cls,
        body: str,
        *,
        limits: ScriptLimits = PATIENT,
        whole: bool = False,
        printed: list[str] | None = None,
    ) -> Any:
        """Return its result."""

        def call(name: str, argument: Any) -> CallAnswer:
            if name == "list":
                return CallAnswer('["a", "b"]')
            return CallAnswer(f"{name} of {argument}", is_error=name != "show")

        lines = [] if printed is None else printed
        code = body if whole else cls.code(body)
        return run_script(code, [cls.SHOW, cls.LIST], call, limits, on_output=lines.append)

    @classmethod
    def failure(
        cls, body: str, *, limits: ScriptLimits = PATIENT, whole: bool = False
    ) -> ScriptFailed:
        """Return its error."""
        with pytest.raises(ScriptFailed) as caught:
            cls.run(body, limits=limits, whole=whole)
        return caught.value


@pytest.fixture
def script() -> type[Script]:
    return Script
