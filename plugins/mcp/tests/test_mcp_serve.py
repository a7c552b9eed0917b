"""`code-commit mcp serve`, with the client of the official SDK."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from code_commit_testing import Project, Reply, ScriptedServer, install_plugin
from code_commit_testing.warm_start import warm_python

LOOPBACK = "from code_commit_testing.loopback_provider import code_commit_providers\n"
needs_tasks = pytest.mark.skipif(not find_spec("code_commit_tasks"), reason="needs the task agent")
COMMIT_ARGUMENTS = {
    *("query", "rollup", "context", "context_tokens", "dry_run", "candidates", "repairs"),
    *("format", "commit", "no_commit", "review", "model", "max_cost", "on_failure"),
}
GREEN = "^^^greeting.txt\nhello\n^^^end\n"


class Served:
    """A project with a scripted model, and a server for it."""

    def __init__(self, project: Project, model: ScriptedServer, plugins: Path, python: str) -> None:
        self.project = project
        self.model = model
        self._plugins = plugins
        self._python = python

    def __call__(self, use: Callable[[Client], Awaitable[Any]]) -> Any:
        """Connect a client, and return what `use` returns."""
        environ = {
            **self.project.environment(),
            "LOOPBACK_BASE_URL": self.model.url("openai"),
            "CODE_COMMIT_MODEL": "loopback-1",
            "CODE_COMMIT_SANDBOX": "off",
            "PYTHONPATH": str(self._plugins),
        }
        command = StdioServerParameters(
            command=self._python,
            args=["-P", "-m", "code_commit", "mcp", "serve"],
            env={**os.environ, **environ},
            cwd=self.project.root,
        )

        async def main() -> Any:
            async with Client(command) as client:
                return await use(client)

        return anyio.run(main)

    def call(self, tool: str, **arguments: Any) -> tuple[bool, Any]:
        """Call one tool; return whether it failed, and its JSON or text."""

        async def use(client: Client) -> Any:
            return await client.call_tool(tool, arguments)

        result = self(use)
        (content,) = result.content
        assert isinstance(content, TextContent)
        try:
            return result.is_error, json.loads(content.text)
        except ValueError:
            return result.is_error, content.text


@pytest.fixture
def served(tmp_path):
    project = Project.create(tmp_path, build="test -f greeting.txt\n")
    plugins = install_plugin(tmp_path / "plugins", "loopback", LOOPBACK)
    python = warm_python(tmp_path, project.environment())
    with ScriptedServer() as model:
        yield Served(project, model, plugins, python)


def test_each_workflow_is_a_tool(served) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in served(use)}
    assert {"committing_code", "list_runs", "show_run", "diff_run", "undo_run"} <= tools.keys()
    properties = tools["committing_code"].input_schema["properties"]
    assert {"query", "dry_run", "repairs", "model", "max_cost", "on_failure"} <= properties.keys()
    assert properties.keys() == COMMIT_ARGUMENTS
    assert tools["list_runs"].annotations.read_only_hint
    assert tools["committing_code"].annotations.destructive_hint


STRANGE = """
from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    def workflow(name, *flags):
        return WorkflowDefinition(name, "a test", flags, "strange_plugin:run", writes=False)

    return [
        workflow(
            "strange",
            Flag(("--strange",), "select it", selects=True, for_programs=True),
            Flag(("--strange-path",), "a file", metavar="PATH"),
            Flag(("--into",), "elsewhere", metavar="X"),
            Flag(("--force",), "a switch"),
            Flag(("--strange-words",), "how long", metavar="N", for_programs=True),
            Flag(
                ("--strange-names",),
                "some",
                metavar="NAME",
                several=True,
                for_programs=True,
            ),
        ),
        workflow("by-path", Flag(("--by-path",), "a file", metavar="PATH", selects=True)),
    ]
"""


def test_a_client_has_only_the_flags_that_a_plugin_offers_to_programs(served, tmp_path) -> None:
    """Also in a workflow whose author did not think of other programs."""
    install_plugin(tmp_path / "plugins", "strange", STRANGE)

    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool.input_schema["properties"] for tool in served(use)}
    shared = {"model", "max_cost", "on_failure"}
    assert tools["strange"].keys() == {"strange_words", "strange_names", *shared}
    names = tools["strange"]["strange_names"]
    assert (names["type"], names["items"]) == ("array", {"type": "string"})
    assert "by_path" not in tools
    for name in ("strange_path", "into", "force"):
        failed, text = served.call("strange", **{name: "x"})
        assert (failed, f"'{name}' was unexpected" in text) == (True, True)
    words = re.compile("file|path|folder|dir|spec|force|sandbox|allow|no_build|plugin|output|edit")
    offered = {name for properties in tools.values() for name in properties}
    assert {name for name in offered if words.search(name)} == {"paths"}  # of the project


def test_an_agent_makes_a_change_looks_at_it_and_undoes_it(served) -> None:
    served.model.script(GREEN)
    failed, ended = served.call("committing_code", query="-- write a greeting", dry_run=False)
    assert (failed, ended["outcome"], ended["exit_code"]) == (False, "reached", 0), ended
    assert "-- write a greeting" in served.model.requests[0].prompt
    failed, runs = served.call("list_runs")
    assert not failed
    assert ended["run"] in json.dumps(runs)
    failed, diff = served.call("diff_run", run=ended["run"])
    assert "+hello" in json.dumps(diff)
    failed, restored = served.call("undo_run", run=ended["run"], paths=["greeting.txt"])
    assert (failed, restored["restored"]) == (False, ["greeting.txt"])
    assert not (served.project.root / "greeting.txt").exists()


def test_a_run_that_fails_is_an_error_with_its_summary(served) -> None:
    served.model.script("^^^other.txt\nx\n^^^end\n")
    failed, ended = served.call("committing_code", query="do it", repairs="0", on_failure="restore")
    assert (failed, ended["outcome"], ended["exit_code"]) == (True, "not_reached", 1)
    assert not (served.project.root / "other.txt").exists()


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("committing_code", {"query": 3}, "$.query: 3 is not of type 'string'"),
        ("committing_code", {"sandbox": "off"}, "'sandbox' was unexpected"),
        ("committing_code", {"files": ["a.txt"]}, "'files' was unexpected"),
        ("committing_code", {"allow_tests": ["a.txt"]}, "'allow_tests' was unexpected"),
        ("committing_code", {"query_file": "/etc/passwd"}, "'query_file' was unexpected"),
        ("committing_code", {"query-file": "/etc/passwd"}, "'query-file' was unexpected"),
        (
            "committing_code",
            {"query": "x", "--query-file": "/etc/passwd"},
            "'--query-file' was unexpected",
        ),
        pytest.param(
            "task", {"task_file": "/etc/passwd"}, "'task_file' was unexpected", marks=needs_tasks
        ),
        pytest.param("task", {"no_build": True}, "'no_build' was unexpected", marks=needs_tasks),
        ("undo_run", {"run": "latest", "force": True}, "'force' was unexpected"),
        ("undo_run", {"run": "--version"}, "nothing to undo"),
        ("undo_run", {"run": "--disable-plugin=history"}, "nothing to undo"),
        ("undo_run", {}, "'run' is a required property"),
        ("undo_run", {"run": "--force"}, "nothing to undo"),
        ("show_run", {"run": "none"}, "there are no runs"),
        ("show_run", {"run": "a\0b"}, "code-commit cannot be started with these arguments"),
        ("committing_code", {"query": "x" * 200_000}, "cannot be started with these arguments"),
        ("undo_run", {"run": "latest", "paths": []}, "$.paths: [] should be non-empty"),
        ("fly", {}, "there is no tool 'fly'"),
    ],
)
def test_a_wrong_call_is_an_error(served, tool: str, arguments: dict[str, Any], words: str) -> None:
    failed, text = served.call(tool, **arguments)
    assert failed
    assert words in text
    assert served.model.requests == []


def test_a_client_hears_of_the_steps(served) -> None:
    served.model.script(GREEN)
    steps: list[str] = []

    async def hear(_: float, __: float | None, message: str | None) -> None:
        steps.append(message or "")

    async def use(client: Client) -> Any:
        return await client.call_tool("committing_code", {"query": "do it"}, progress_callback=hear)

    assert not served(use).is_error
    assert any(step.startswith("call 1: asking loopback-1") for step in steps)
    assert any("build.sh" in step for step in steps)


def test_a_client_that_goes_away_interrupts_the_run(served) -> None:
    served.model.script(Reply(fault="hang"))

    async def use(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "committing_code", {"query": "do it"})
            while not served.model.requests:  # noqa: ASYNC110 - another process sends it
                await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()

    served(use)
    finished = [
        json.loads(line)
        for line in (served.project.run_folder / "events.jsonl").read_text().splitlines()
    ][-1]
    assert (finished["kind"], finished["data"]["exit_code"]) == ("run.finished", 130)


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("setpriv"), reason="needs setpriv")
def test_a_server_that_is_killed_interrupts_the_run(served, tmp_path: Path) -> None:
    was_asked = threading.Event()

    def hang(_: object) -> Reply:
        was_asked.set()
        return Reply(fault="hang")

    served.model.script(hang)
    environ = {"LOOPBACK_BASE_URL": served.model.url("openai"), "CODE_COMMIT_MODEL": "loopback-1"}
    plugins = [tmp_path / "plugins"]
    with served.project.start(
        "mcp", "serve", environ=environ, plugins=plugins, cold=True
    ) as server:
        client = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        call = {"name": "committing_code", "arguments": {"query": "do it"}}
        for message in (
            {"id": 1, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": call},
        ):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
        assert was_asked.wait(60)
        server.kill()
    events = served.project.run_folder / "events.jsonl"
    deadline = time.monotonic() + 60
    while '"run.finished"' not in events.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)  # the run is nobody's child any more
    finished = json.loads(events.read_text().splitlines()[-1])
    assert (finished["kind"], finished["data"]["exit_code"]) == ("run.finished", 130)


def test_a_line_that_is_no_message_is_answered_and_the_server_goes_on(tmp_path: Path) -> None:
    lines = [
        b"{nope",
        b"",
        b"\xff\xfe",
        b'{"jsonrpc": "2.0", "id": 7, "method": "ping"',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 400 + b"}",
        b"[1]",
        b'{"jsonrpc": "2.0", "id": 1}',
        b'{"jsonrpc": "2.0", "id": 8, "method": "ping"}',
    ]
    with Project.create(tmp_path).start("mcp", "serve") as server:
        server.stdin.write(b"".join(line + b"\n" for line in lines))
        server.stdin.flush()
        *faults, pong = [json.loads(server.stdout.readline()) for _ in lines]
        rest, stderr = server.communicate(timeout=60)
    codes = [-32700] * 5 + [-32600] * 3
    assert [(fault["id"], fault["error"]["code"]) for fault in faults] == [
        (None, code) for code in codes
    ]
    assert (pong["id"], pong["result"]) == (8, {})
    assert (server.returncode, rest, stderr) == (0, b"", b"")


def test_a_signal_just_before_a_wait_ends_the_server(tmp_path: Path) -> None:
    """A blocked signal goes to another thread, so that it ends no wait of the main one."""
    code = """
import signal, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
"""
    (tmp_path / "sitecustomize.py").write_text(code)
    with Project.create(tmp_path / "made").start(
        "mcp", "serve", plugins=[tmp_path], cold=True
    ) as process:
        request = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": request}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(60) == 130
            assert process.stderr.read() == b"error: interrupted\n"  # it ended by itself
        finally:
            process.kill()


def test_the_help_of_the_command_does_not_import_the_sdk(tmp_path: Path) -> None:
    shown = Project.create(tmp_path).command(
        "mcp", "--help", environ={"PYTHONPROFILEIMPORTTIME": "1"}, cold=True
    )
    assert (shown.exit_code, "serve the project" in shown.stdout) == (0, True)
    assert re.findall(r"\| +(argparse|mcp(?:_types)?)$", shown.stderr, re.MULTILINE) == ["argparse"]
