"""The JSON schemas in docs/schemas: made from the records themselves, and true of what real runs write.

python tests/docs/test_schemas.py       writes the schema of the events anew
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from code_commit.records import event as events
from code_commit.run_log import RunDocument
from code_commit.testing import Project, install_plugin

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLUGIN = """
import json, os
from pydantic import BaseModel
from code_commit.plugin_api import Completion, Finish, Message, ProviderDefinition, ProviderError, Text, Usage, hookimpl

class Config(BaseModel):
    model: str = "told"

class Told:
    replies = json.loads(os.environ.get("TOLD", "[]"))
    def __init__(self, config):
        pass
    def complete(self, request, call):
        reply = self.replies.pop(0)
        if reply == "down":
            raise ProviderError("it is down", kind="server")
        return Completion(Message("assistant", (Text(reply),)), Finish.STOP, "stop", Usage(10, 5), "told", {})
    def close(self):
        pass

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("told", {}, "", None, None, ("a", "{key}"), "told_plugin:Config", "told_plugin:Told")]

@hookimpl
def code_commit_misspelled():
    pass
"""


def kinds() -> dict[str, type[events.Event]]:
    return {
        cls.kind: cls
        for cls in vars(events).values()
        if isinstance(cls, type) and issubclass(cls, events.Event) and cls.kind
    }


def event_schema() -> dict[str, Any]:
    """The schema of a line of `events.jsonl`: the envelope, and the data of each kind. What is added later is allowed."""
    envelope = TypeAdapter(events.Record).json_schema()
    definitions, rules = {}, []
    for kind, cls in sorted(kinds().items()):
        data = TypeAdapter(cls).json_schema()
        definitions[cls.__name__] = data
        rules.append({
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"properties": {"data": {"$ref": f"#/$defs/{cls.__name__}"}}},
        })  # fmt: skip
    return {
        "$schema": DIALECT,
        "title": "An event of code-commit: a line of events.jsonl, and of stdout with --json",
        "type": "object",
        "required": [*envelope["required"], "version"],
        "properties": {name: bare(value) for name, value in envelope["properties"].items()},
        "allOf": rules,
        "$defs": {name: bare(schema) for name, schema in definitions.items()},
    }


def bare(schema: Any, *, names: bool = False) -> Any:
    """Leave out the titles and defaults that pydantic adds: they say nothing to a reader of events."""
    if isinstance(schema, list):
        return [bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: item for key, item in schema.items() if names or key not in {"title", "default"}}
    return {key: bare(item, names=not names and key in {"properties", "$defs"}) for key, item in kept.items()}


def written(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text("utf-8"))


def test_the_schema_of_events_is_that_of_the_records() -> None:
    assert written("event.schema.json") == event_schema(), "run this file as a script"


def test_the_schema_of_the_run_document_has_all_its_fields() -> None:
    schema = written("run.schema.json")
    assert set(schema["properties"]) == set(RunDocument().fields)
    assert set(schema["required"]) == set(RunDocument().fields)


@pytest.fixture(scope="module")
def validators() -> dict[str, Any]:
    jsonschema = pytest.importorskip("jsonschema", reason="the environment `docs` has it, by the toolbox")
    made = {}
    for name in ("event", "run"):
        schema = written(f"{name}.schema.json")
        jsonschema.Draft202012Validator.check_schema(schema)
        made[name] = jsonschema.Draft202012Validator(schema)
    return made


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
def test_what_a_run_writes_is_valid(validators, tmp_path, replies, arguments) -> None:
    project = Project.create(tmp_path, build="grep -q good a.txt\n")
    project.write({"agent-config/config.toml": "[http]\nretries = 0\n"})
    plugins = [install_plugin(tmp_path / "plugins", "told", PLUGIN)]
    environ = {"TOLD": json.dumps(replies)}
    finished = project.command("--model", "told/told", "--json", *arguments, environ=environ, plugins=plugins)
    assert {"run.started", "plugin.failed", "run.finished"} <= {event["kind"] for event in finished.events}
    for event in finished.events:
        validators["event"].validate(event)
    validators["run"].validate(json.loads((project.run_folder / "run.json").read_text("utf-8")))


def test_the_last_words_of_a_run_that_never_began_are_valid(validators, tmp_path) -> None:
    for event in Project.create(tmp_path).command("--json", "--model", "nobody").events:
        validators["event"].validate(event)


def test_the_schema_refuses_what_is_no_event(validators) -> None:
    good = {
        "seq": 1,
        "time": 1.0,
        "run": "",
        "span": 0,
        "parent": None,
        "kind": "message",
        "data": {"text": "x"},
        "version": 1,
    }
    assert validators["event"].is_valid(good)
    assert validators["event"].is_valid({**good, "kind": "tasks.step", "data": {"any": 1}})
    for wrong in ({"seq": "1"}, {"data": {}}, {"data": []}, {"kind": None}):
        assert not validators["event"].is_valid({**good, **wrong}), wrong


if __name__ == "__main__":
    (SCHEMAS / "event.schema.json").write_text(json.dumps(event_schema(), indent=2) + "\n", "utf-8")
