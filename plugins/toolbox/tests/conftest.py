"""Two test plugins: a workflow with an agent, and a provider with scripted replies."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, install_plugin

PLUGIN = '''
import json
import os
from pathlib import Path

from pydantic import BaseModel

from code_commit.plugin_api import (
    Completion, Finish, Flag, Message, Opaque, Outcome, ProviderDefinition, Result, Text, ToolCall, Usage,
    WorkflowDefinition, hookimpl, parts_to_json,
)


@hookimpl
def code_commit_workflows():
    flag = Flag(("--agent",), "let an agent work", metavar="JSON", selects=True)
    return [WorkflowDefinition("agent", "a test", (flag,), run="scripted_plugin:work", options="scripted_plugin:Options")]


@hookimpl
def code_commit_providers():
    return [ProviderDefinition("script", {"scripted": ()}, "", None, None, ("x", "{key}"),
                               config="scripted_plugin:Config", factory="scripted_plugin:Service")]


class Options(BaseModel):
    agent: str


class Config(BaseModel):
    model: str = "scripted"


class Service:
    """Returns the replies of a file, and records the requests."""

    def __init__(self, config):
        self.replies = json.loads(Path(os.environ["SCRIPT"]).read_text())

    def complete(self, call):
        request = call.request
        rows = [{"role": each.role, "parts": parts_to_json(each.parts),
                 "marked": any(getattr(part, "cache_here", False) for part in each.parts)} for each in request.messages]
        asked = {"messages": rows, "system": request.system, "tools": [tool.name for tool in request.tools]}
        with open(os.environ["SCRIPT"] + ".asked", "a") as file:
            file.write(json.dumps(asked) + "\\n")
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]  # repeat the last one
        for path, text in reply.get("meanwhile", {}).items():  # a person writes
            Path(path).write_text(text)
        parts = [Opaque("script", {"thinking": reply["thinking"]})] if "thinking" in reply else []
        parts += [Text(reply["text"])] if reply.get("text") else []
        for number, (name, given) in enumerate(reply.get("calls", ())):
            raw = given if isinstance(given, str) else json.dumps(given)
            parts.append(ToolCall(f"{len(self.replies)}-{number}", name, None if isinstance(given, str) else given, raw))
        finish = Finish(reply.get("finish", "tool_calls" if reply.get("calls") else "stop"))
        usage = Usage(*reply.get("usage", (10, 5)))
        return Completion(Message("assistant", tuple(parts)), finish, finish.value, usage, "scripted", {})

    def close(self):
        pass


def work(run):
    from code_commit_toolbox.agent import run_agent
    from code_commit_toolbox.outcome import AgentLimits
    from code_commit_toolbox.toolbox import open_toolbox
    from code_commit_toolbox.transcript import read_transcript

    given = json.loads(run.options.agent)
    toolbox = open_toolbox(run, todo=given.get("todo"))
    allow = given["allow"] if given.get("allow") else list(toolbox.tools)
    limits = AgentLimits(**given["limits"]) if "limits" in given else None
    history = read_transcript(Path(given["resume"])).messages if "resume" in given else ()
    turns = []
    result = run_agent(
        run, run.model(), toolbox, allow=allow, system="Be brief.", prompt=given.get("prompt", "Do it."), limits=limits,
        history=history, label="tester",
        on_turn=lambda turn: turns.append([turn.number, [call.name for call in turn.calls]]),
    )
    data = {"end": result.end.name, "text": result.text, "turns": result.turns, "tokens": result.tokens,
            "tampered": list(result.tampered), "transcript": result.transcript.name, "calls": turns,
            "messages": [{"role": each.role, "parts": parts_to_json(each.parts)} for each in result.messages]}
    return Result(Outcome.REACHED if result.finished else Outcome.NOT_REACHED, result.end.value, data)
'''


@dataclass(frozen=True, slots=True)
class Worked:
    """The result of an agent. `asked` are the requests to the service."""

    finished: Finished
    asked: list[dict[str, Any]]

    @property
    def data(self) -> dict[str, Any]:
        return self.finished.events[-1]["data"]["data"]

    @property
    def end(self) -> str:
        return self.data["end"]

    @property
    def results(self) -> list[dict[str, Any]]:
        """Return all answers to calls, in order."""
        rows = [part for message in self.data["messages"] for part in message["parts"]]
        return [part for part in rows if part["type"] == "tool_result"]

    @property
    def result(self) -> dict[str, Any]:
        """Return the first answer."""
        return self.results[0]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [event["data"] for event in self.finished.events if event["kind"] == kind]


@dataclass(frozen=True, slots=True)
class Bench:
    """A project in which agents can work."""

    project: Project
    plugins: Path

    def work(
        self,
        *replies: dict[str, Any],
        flags: Sequence[str] = (),
        environ: dict[str, str] | None = None,
        plugins: Iterable[Path] = (),
        **given: Any,
    ) -> Worked:
        """Run an agent with scripted replies; `given` are the options of the workflow."""
        script = self.project.home / "script.json"
        script.write_text(json.dumps(replies), "utf-8")
        asked = script.with_name("script.json.asked")
        asked.unlink(missing_ok=True)
        finished = self.project.command(
            *("--agent", json.dumps(given), "--model", "script/scripted", "--json", *flags),
            environ={"SCRIPT": str(script), **(environ or {})},
            plugins=[self.plugins, *plugins],
        )
        lines = asked.read_text("utf-8").splitlines() if asked.exists() else []
        return Worked(finished, [json.loads(line) for line in lines])

    def use(self, name: str, arguments: dict[str, Any] | str, **options: Any) -> Worked:
        """Run an agent that calls one tool."""
        return self.work({"calls": [[name, arguments]]}, {"text": "done"}, **options)

    def settings(self, text: str) -> None:
        self.project.write({"agent-config/config.toml": text})


@pytest.fixture
def bench(tmp_path) -> Bench:
    files = {
        "a.txt": "one\ntwo\nthree\n",
        "src/main.py": "def main(x):\n    print(x)\n    print(x, 1)\n",
    }
    project = Project.create(tmp_path, files=files, gitignore="/agent-config\n*.secret\n")
    return Bench(project, install_plugin(tmp_path / "plugins", "scripted", PLUGIN))


@pytest.fixture
def no_sandbox(tmp_path) -> dict[str, str]:
    """Return the environment of a machine where bubblewrap does not work."""
    folder = tmp_path / "no-sandbox"
    folder.mkdir()
    (folder / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"
    )
    (folder / "bwrap").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
