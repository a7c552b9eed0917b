"""The JSON schemas of documents: each is compared with the output of real commands and runs."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from code_commit.cli.host import CommandHost, command_parser
from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
KEY = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q"}
# The commands with `--json`, under the names of their schemas, with arguments that produce output.
COMMAND_LINES: dict[str, tuple[tuple[str, ...], int]] = {
    "check": (("check", "a.txt", ".git/config"), 1),
    "config": (("config",), 0),
    "doctor": (("doctor",), 3),
    "init": (("init",), 0),
    "models": (("models",), 0),
    "plugins": (("plugins", "--disable-plugin", "otel"), 0),
    "plugins-doctor": (("plugins", "doctor"), 1),
    "replay": (("replay", "--keep"), 0),
    "rollup": (("rollup",), 0),
    "runs": (("runs",), 0),
    "runs-diff": (("runs", "diff", "--attempt", "1"), 0),
    "runs-export": (("runs", "export", "--sink", "html"), 0),
    "runs-list": (("runs", "list"), 0),
    "runs-cost": (("runs", "cost"), 0),
    "runs-open": (("runs", "open"), 0),
    "runs-path": (("runs", "path"), 0),
    "runs-prune": (("runs", "prune", "--keep", "1"), 0),
    "runs-show": (("runs", "show"), 0),
    "undo": (("undo",), 0),
    "redo": (("redo",), 0),
}
HOST = CommandHost({})
COMMANDS = HOST.registry.commands
# Of a fleet, which has a test of its own.
FLEET = {
    "fleet-run": "fleet-event",
    "fleet-retry": "fleet-event",
    "fleet-status": "fleet-status",
    "fleet-show": "fleet-show",
}
EVENTS = {"apply"}  # starts a run
RUNS = {"runs": "runs-list"}  # the default action of a command
# Schemas of files and events.
OTHERS = {
    "event",
    "fleet-unit",
    "run",
    "rollup-manifest",
    "consistency-report",
    "response-parts",
    "transcript",
    "task-attempt",
}
BROKEN = "from code_commit.plugin_api import hookimpl\n@hookimpl\ndef code_commit_misspelled():\n    pass\n"


def block(text: str) -> str:
    return f"^^^a.txt\n{text}\n^^^end\n"


def help_of(command: str, *actions: str) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
        command_parser(*COMMANDS[command]).parse_args([*actions, "--help"])
    return shown.getvalue()


def with_json() -> set[str]:
    """Return every command and action with `--json`, under the name of its schema."""
    lines = [
        (command, *action)
        for command, offered in COMMANDS.items()
        for action in ((), *((name,) for name in actions_of(command_parser(*offered))))
    ]
    return {
        "-".join(line).replace(" ", "-")
        for line in lines
        if re.search(r"--json(?![\w-])", help_of(*line))
    }


def actions_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return the names of a command's actions."""
    return [
        name
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    ]


def test_commands_with_json_and_schemas_match() -> None:
    assert with_json() == COMMAND_LINES.keys() | FLEET.keys() | EVENTS
    schemas = {file.name.removesuffix(".schema.json") for file in SCHEMAS.iterdir()}
    assert schemas == (COMMAND_LINES.keys() - RUNS.keys()) | OTHERS | {*FLEET.values()}


def test_the_page_names_every_schema() -> None:
    page = (SCHEMAS.parent / "json.md").read_text("utf-8")
    assert set(re.findall(r"\(schemas/(.+)\)", page)) == {file.name for file in SCHEMAS.iterdir()}


def test_every_object_in_a_schema_is_closed_and_requires_all_fields() -> None:
    def look(schema: Any, where: str) -> None:
        if isinstance(schema, list):
            for part in schema:
                look(part, where)
        elif isinstance(schema, dict):
            if isinstance(schema.get("properties"), dict) and "object" in schema.get("type", ()):
                assert schema["additionalProperties"] is False, (where, schema["properties"])
                assert schema["required"] == list(schema["properties"]), (
                    where,
                    schema["properties"],
                )
            for name, part in schema.items():
                look(part, f"{where}/{name}")

    for file in SCHEMAS.iterdir():
        look(json.loads(file.read_text("utf-8")), file.name)


def run_on(
    project: Project,
    *arguments: str,
    replies: tuple[Reply, ...],
    stdin: str = "",
    exit_code: int = 0,
) -> Any:
    """Return the result of a run with `--json`, answered by a server with OpenAI's protocol."""
    with ScriptedServer(replies) as server:
        environ = {**KEY, **server.environment()}
        line = ("--model", "gpt-5", "--sandbox", "off", "--json", *arguments)
        finished = project.command(*line, environ=environ, stdin=stdin)
    assert finished.exit_code == exit_code, finished.stderr + finished.stdout
    return finished


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Project:
    """Return a project with a run that needed a repair."""
    project = Project.create(tmp_path_factory.mktemp("documents"), build="grep -q good a.txt\n")
    run_on(project, replies=(Reply(block("bad")), Reply(block("good"))))
    return project


@pytest.mark.parametrize("name", COMMAND_LINES)
def test_the_output_of_a_command_is_valid(project, fits, tmp_path, name) -> None:
    copy = Project(tmp_path / "project", project.home)
    shutil.copytree(project.root, copy.root, symlinks=True)
    if name == "redo":
        assert copy.command("undo").exit_code == 0
    line, exit_code = COMMAND_LINES[name]
    plugins = (
        [install_plugin(tmp_path / "plugins", "broken", BROKEN)] if line[0] == "plugins" else []
    )
    finished = copy.command(*line, "--json", plugins=plugins)
    assert finished.exit_code == exit_code, finished.stderr
    assert any(finished.document.values())
    fits(RUNS.get(name, name), finished.document)


def test_the_documents_of_a_fleet_are_valid(fits, tmp_path) -> None:
    project = Project.create(tmp_path)
    project.write(
        {
            "fleet.toml": 'query = "new"\nmodels = ["gpt-5"]\npilot = 1\nrepository = [{ url = "../here" }, { url = "../too" }]\n'
        }
    )
    for name in ("here", "too"):
        shutil.copytree(
            Project.create(tmp_path / f"of-{name}", rollup=None, query=None).root, tmp_path / name
        )
    with ScriptedServer([Reply(block("new")), Reply("no block"), Reply("no block")]) as server:
        environ = {**KEY, **server.environment()}
        run = project.command(
            "fleet",
            "run",
            "fleet.toml",
            "--json",
            "--sandbox",
            "off",
            "--workers",
            "1",
            environ=environ,
        )
    assert run.exit_code == 1, run.stderr
    fits_all(fits, "fleet-event", run.events)
    kinds = {"fleet.started", "unit.started", "unit.finished", "fleet.pilot", "fleet.finished"}
    assert {event["kind"] for event in run.events} == kinds
    assert fits_lines(fits, "fleet-unit", project.root / "fleet.fleet", "units.jsonl") == 2
    fits("fleet-status", project.command("fleet", "status", "--json").document)
    fits("fleet-show", project.command("fleet", "show", "here", "--json").document)


def test_the_lists_of_incomplete_runs_are_valid(project, fits, tmp_path) -> None:
    copy = Project(tmp_path / "project", project.home)
    shutil.copytree(project.root, copy.root, symlinks=True)
    events = copy.run_folder / "events.jsonl"
    events.write_text("".join(events.read_text("utf-8").splitlines(keepends=True)[:3]), "utf-8")
    (copy.run_folder / "run.json").unlink()
    (copy.root / "logs/2020-01-01-00-00-00-odd").mkdir()
    listed = copy.command("runs", "--json").document
    assert [row["state"] for row in listed["runs"]] == ["killed", "killed"]
    fits("runs-list", listed)
    for row in listed["runs"]:
        fits("runs-show", copy.command("runs", "show", row["run"], "--json").document)


def test_the_manifest_of_a_rollup_is_valid(fits, tmp_path) -> None:
    project = Project.create(tmp_path)
    assert project.command("rollup").exit_code == 0
    fits("rollup-manifest", json.loads(project.read("agent-config/.code-commit/rollup.json")))


_REPORT = "Words.\n\n## Implementation Consistency with User Specification\n\nNone.\n\n## Tests\n\nNone.\n"


def test_a_consistency_report_is_valid(fits, tmp_path) -> None:
    project = Project.create(tmp_path)
    finished = run_on(project, "--consistency", replies=(Reply(_REPORT),))
    fits_all(fits, "event", finished.events)
    assert {"consistency.sample.started", "consistency.sample.finished"} <= {
        event["kind"] for event in finished.events
    }
    document = json.loads(project.read("agent-config/consistency-report.json"))
    fits("consistency-report", document)
    fits("consistency-report", finished.events[-1]["data"]["data"])


def test_the_files_and_events_of_a_task_are_valid(fits, tmp_path) -> None:
    project = Project.create(tmp_path)
    step = {"title": "look", "description": "Look.", "step_type": "research"}
    steps = {
        "title": "all",
        "steps": [{**step, "exit_requirement": {"type": "pattern", "pattern": "seen"}}],
    }
    code = "```typescript\nasync function agent_code(): Promise<any> {{\n{}\n}}\n```\n"
    look = code.format('console.log("it is", (await show("a.txt")).length); return "seen";')
    replies = tuple(
        map(Reply, (code.format(f"return {json.dumps(steps)};"), code.format('return "no";'), look))
    )
    finished = run_on(project, "--task", "Look at it.", replies=replies)
    fits_all(fits, "event", finished.events)
    kinds = {event["kind"] for event in finished.events}
    spans = {
        f"tasks.{span}.{end}" for span in ("step", "attempt") for end in ("started", "finished")
    }
    assert {
        "tasks.code",
        "tasks.called",
        "tasks.listed",
        "tasks.judged",
        "tasks.ended",
        *spans,
    } <= kinds
    assert fits_lines(fits, "task-attempt", project.run_folder, "*-attempt-*.jsonl") >= 2


def test_the_files_and_events_of_planning_are_valid(fits, tmp_path) -> None:
    def called(name: str, **arguments: Any) -> ToolCall:
        return ToolCall(f"call_{name}", name, arguments)

    project = Project.create(tmp_path)
    project.git("config", "user.name", "Author")
    project.git("config", "user.email", "author@example.org")
    project.write({"g3-plan/new_requirements.md": "b, please\n"})
    new = "{{CURRENT REQUIREMENTS}}\nAdd b.\n"
    replies = (
        Reply(
            thinking="hm",
            tool_calls=(
                called("write_file", path="g3-plan/new_requirements.md", content=new),
                called("final_output", summary="Add b alone."),
            ),
        ),
        Reply("Add b."),
        Reply(
            tool_calls=(
                called("write_file", path="b.txt", content="b\n"),
                called("read_file", path="none"),
            )
        ),
        Reply(tool_calls=(called("final_output", summary="b is there"),)),
        Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
        Reply("Add b\n\nAdds b.txt."),
    )
    typed = "yes\n\nyes\n\nquit\n"
    finished = run_on(
        project, "--planning", f"--codepath={project.root}", replies=replies, stdin=typed
    )
    fits_all(fits, "event", finished.events)
    kinds = {event["kind"] for event in finished.events}
    assert {
        "planner.told",
        "planner.turn.started",
        "state.entered",
        "question.asked",
        "question.answered",
    } <= kinds
    assert {
        "toolbox.called",
        "toolbox.ended",
        "toolbox.agent.started",
        "toolbox.turn.finished",
    } <= kinds
    assert fits_lines(fits, "transcript", project.run_folder, "*-transcript.jsonl") > 10
    parts = sorted(project.run_folder.glob("*-parts.json"))
    assert parts
    fits_all(fits, "response-parts", [json.loads(file.read_text("utf-8")) for file in parts])
    fits("run", json.loads((project.run_folder / "run.json").read_text("utf-8")))


def fits_all(fits: Callable[[str, Any], None], name: str, documents: list[Any]) -> None:
    for document in documents:
        fits(name, document)


def fits_lines(fits: Callable[[str, Any], None], name: str, folder: Path, pattern: str) -> int:
    lines = [
        json.loads(line)
        for file in folder.glob(pattern)
        for line in file.read_text("utf-8").splitlines()
    ]
    fits_all(fits, name, lines)
    return len(lines)
