"""The JSON schemas in docs/schemas match the records and the output of real runs.

python tests/docs/test_schemas.py       writes the schema of the events
"""

from __future__ import annotations

import ast
import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from code_commit.plugin_api import Record, run_document
from code_commit.plugin_api import event as events
from code_commit_testing import Project, install_plugin

REPOSITORY = Path(__file__).parents[2]
SCHEMAS = REPOSITORY / "docs" / "schemas"
# The data of `<kind>.started`, which has no type in the code.
SPANS = {
    "attempt": {"number": "integer"},
    "candidate": {"number": "integer", "model": "string", "call": "integer"},
    "consistency.sample": {"number": "integer"},
    "planner.turn": {"number": "integer"},
    "tasks.attempt": {"step": "string", "number": "integer"},
    "tasks.step": {"step": "string", "title": "string"},
    "toolbox.agent": {"label": "string"},
    "toolbox.turn": {"number": "integer"},
}
SPAN_FINISHED = {"seconds": {"type": "number"}, "error": {"type": ["string", "null"]}}
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLUGIN = """
import json, os
from pydantic import BaseModel
from code_commit.plugin_api import (
    Completion, Finish, Message, ProviderDefinition, ProviderError, Text, Usage, hookimpl
)

class Config(BaseModel):
    model: str = "listed"

class Listed:
    replies = json.loads(os.environ.get("REPLIES", "[]"))
    def __init__(self, config):
        pass
    def complete(self, call):
        reply = self.replies.pop(0)
        if reply == "down":
            raise ProviderError("it is down", kind="server")
        return Completion(Message("assistant", (Text(reply),)), Finish.STOP, "stop", Usage(10, 5), "listed", {})
    def close(self):
        pass

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("listed", {}, "", None, None, ("a", "{key}"), "listed_plugin:Config", "listed_plugin:Listed")]

@hookimpl
def code_commit_misspelled():
    pass
"""


@cache
def sources() -> list[tuple[str, ast.Module]]:
    """Return every module of the distributions with its dotted name."""
    return [
        (
            ".".join(file.relative_to(source).with_suffix("").parts),
            ast.parse(file.read_text("utf-8")),
        )
        for source in (REPOSITORY / "core/src", *(REPOSITORY / "plugins").glob("*/src"))
        for file in source.rglob("*.py")
        if "demo/project" not in file.as_posix()
    ]


def kinds() -> dict[str, type[events.Event]]:
    """Return the event classes of the host and the plugins, by kind."""
    schemas = {}
    for module, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(
                getattr(base, "id", "") == "Event" for base in node.bases
            ):
                cls = getattr(importlib.import_module(module), node.name)
                schemas[cls.kind] = cls
    return schemas


def spans() -> dict[str, list[str]]:
    """Return the kinds of spans with the names of their fields."""
    return {
        str(node.args[0].value): [keyword.arg or "**" for keyword in node.keywords]
        for _, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "span"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def event_schema() -> dict[str, Any]:
    """Return the schema of a line of `events.jsonl`: the envelope, and the data of each kind; other
    kinds are open.
    """
    envelope = closed(TypeAdapter(Record).json_schema())
    data = {
        kind: (cls.__name__, closed(TypeAdapter(cls).json_schema()))
        for kind, cls in kinds().items()
    }
    for kind, fields in SPANS.items():
        name = kind.title().replace(".", "")
        begins = {field: {"type": named} for field, named in fields.items()}
        data[f"{kind}.started"] = f"{name}Started", closed({"type": "object", "properties": begins})
        data[f"{kind}.finished"] = (
            "SpanFinished",
            closed({"type": "object", "properties": SPAN_FINISHED}),
        )
    return {
        "$schema": DIALECT,
        "title": "An event of code-commit: a line of events.jsonl, and of stdout with --json",
        **bare(envelope),
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"properties": {"data": {"$ref": f"#/$defs/{name}"}}},
            }
            for kind, (name, _) in sorted(data.items())
        ],
        "$defs": {
            name: bare(schema) for name, schema in sorted(data.values(), key=lambda named: named[0])
        },
    }


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with all fields required and no others allowed."""
    assert "$defs" not in schema, "close nested records, too"
    return {**schema, "required": list(schema["properties"]), "additionalProperties": False}


def bare(schema: Any, *, names: bool = False) -> Any:
    """Remove the titles and defaults that pydantic adds: readers of events do not need them."""
    if isinstance(schema, list):
        return [bare(value) for value in schema]
    if not isinstance(schema, dict):
        return schema
    fields = {
        key: value for key, value in schema.items() if names or key not in {"title", "default"}
    }
    return {
        key: bare(value, names=not names and key in {"properties", "$defs"})
        for key, value in fields.items()
    }


def written(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text("utf-8"))


def test_the_schema_of_events_matches_the_records() -> None:
    assert written("event.schema.json") == event_schema(), "run this file as a script"


def test_every_span_is_in_the_schema_with_its_fields() -> None:
    assert spans() == {kind: list(fields) for kind, fields in SPANS.items()}


def test_the_schema_of_the_run_document_has_all_its_fields() -> None:
    schema = written("run.schema.json")
    assert set(schema["properties"]) == set(run_document([]))
    assert set(schema["required"]) == set(run_document([]))


@pytest.mark.parametrize(
    ("replies", "arguments"),
    [
        (["^^^a.txt\nbad\n^^^end\n", "no block", "^^^a.txt\ngood\n^^^end\n"], ()),
        (["^^^../a.txt\nbad\n^^^end\n"], ()),
        (["down"] * 9, ()),
        (["^^^a.txt\nbad\n^^^end\n"], ("--repairs", "0", "--on-failure", "restore")),
        ([], ("--query", "")),
    ],
    ids=["repaired", "refused", "down", "restored", "not ready"],
)
def test_the_events_and_document_of_a_run_are_valid(
    validators, tmp_path, replies, arguments
) -> None:
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    project.write({"agent-config/config.toml": "[http]\nretries = 0\n"})
    plugins = [install_plugin(tmp_path / "plugins", "listed", PLUGIN)]
    environ = {"REPLIES": json.dumps(replies)}
    finished = project.command(
        "--model", "listed/listed", "--json", *arguments, environ=environ, plugins=plugins
    )
    assert {"run.started", "plugin.failed", "run.finished"} <= {
        event["kind"] for event in finished.events
    }
    for event in finished.events:
        validators["event"].validate(event)
    for document in project.root.glob("logs/*/run.json"):  # none of a run that was not ready
        validators["run"].validate(json.loads(document.read_text("utf-8")))


def test_the_events_of_a_run_that_did_not_start_are_valid(validators, tmp_path) -> None:
    for event in Project.create(tmp_path).command("--json", "--model", "nobody").events:
        validators["event"].validate(event)


def test_the_schema_rejects_invalid_events(validators) -> None:
    good: dict[str, Any] = {
        "seq": 1,
        "time": 1.0,
        "run": "",
        "span": 0,
        "parent": None,
        "kind": "message",
        "data": {"text": "x", "level": "info"},
        "version": 1,
    }
    assert validators["event"].is_valid(good)
    assert validators["event"].is_valid({**good, "kind": "tasks.step", "data": {"any": 1}})
    for wrong in (
        {"seq": "1"},
        {"data": {}},
        {"data": []},
        {"kind": None},
        {"data": {**good["data"], "new": 1}},
        {"x": 1},
    ):
        assert not validators["event"].is_valid({**good, **wrong}), wrong


if __name__ == "__main__":
    (SCHEMAS / "event.schema.json").write_text(json.dumps(event_schema(), indent=2) + "\n", "utf-8")
