"""What the run folder and the events say of a call, for each thing that a provider may return."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from code_commit.plugin_api import read_records
from code_commit_testing import Finished, Project, install_plugin

PLUGIN = """
from pydantic import BaseModel
from code_commit.plugin_api import (
    Completion,
    Finish,
    Flag,
    Message,
    Outcome,
    ProviderDefinition,
    ProviderError,
    Request,
    Result,
    Text,
    ToolCall,
    Usage,
    WorkflowDefinition,
    hookimpl,
)


class Config(BaseModel):
    model: str


class Rich:
    def __init__(self, config):
        pass

    def complete(self, call):
        prompt = call.request.messages[0].parts[0].text
        parts = (
            (Text("words"), ToolCall("c1", "read", {"a": 1}, '{"a": 1}'))
            if prompt == "tool"
            else (Text(prompt),)
        )
        usage = Usage(1000, 200, cache_read=30, cache_write=4, reasoning=5)
        more = (
            {"cost": 0.25} if prompt == "cost" else {"cached": True} if prompt == "cached" else {}
        )
        if prompt == "gone":
            raise ProviderError("who is there", kind="network", body="half a reply")
        return Completion(
            Message("assistant", parts),
            Finish.STOP,
            "end",
            usage,
            "rich-exact",
            {"id": prompt},
            **more,
        )

    def count(self, call):
        assert (call.label, call.number) == ("", 0)  # it is no call of the run
        return {"tool": "12", "cost": -3}[call.request.messages[0].parts[0].text]

    def close(self):
        pass


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "rich",
            {"rich-1": ()},
            "",
            None,
            None,
            ("authorization", "{key}"),
            "rich_plugin:Config",
            "rich_plugin:Rich",
            windows={"rich-1": 4096},
        )
    ]


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            name,
            "ask",
            (Flag((f"--{name}",), "ask", selects=True),),
            f"rich_plugin:{name}",
            numbered=name != "unnumbered",
            roles=("player",),
            reports_progress=name == "unnumbered",
        )
        for name in ("numbered", "unnumbered")
    ]


def asked(prompt):
    return Request((Message("user", (Text(prompt),)),))


def numbered(run):
    model = run.model("player")
    for prompt in ("tool", "cost", "cached"):
        model.complete(asked(prompt), label="ask")
    run.build()
    counted = [model.count_tokens(asked(prompt)) for prompt in ("tool", "cost", "other")]
    return Result(
        Outcome.REACHED, "done", {"model": [model.name, model.window], "counted": counted}
    )


def unnumbered(run):
    run.build()
    run.model().complete(asked("one"), label="ask")
    run.build()
    run.model("player").complete(asked("gone"), label="ask")
"""


@pytest.fixture
def run(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "rich", PLUGIN)]

    def run(*arguments: str, **environ: str) -> Finished:
        command = ("--model", "rich-1", "--sandbox", "off", *arguments)
        return project.command(*command, plugins=plugins, environ=environ)

    return run


def calls(project: Project, kind: str) -> list[dict[str, Any]]:
    return [
        dict(record.data)
        for record in read_records(project.run_folder / "events.jsonl")
        if record.kind == kind
    ]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if "ask" in path.name or "build" in path.name}


def test_the_events_tell_all_that_is_known_of_a_call(run, project: Project):
    finished = run("--numbered", "--json")
    assert finished.exit_code == 0, finished.stderr
    own = {"number": 1, "label": "ask", "model": "rich-1"}
    place = {"address": "", "key_source": "", "request": "1-ask.txt", "instead_of": None}
    assert calls(project, "call.started")[0] == own | place | {"provider": "rich"}
    tokens = {"input": 1000, "output": 200, "cache_read": 30, "cache_write": 4, "reasoning": 5}
    ended = {
        "finish": "stop",
        "finish_detail": "end",
        "cost_usd": None,
        "parts": "1-ask-response-parts.json",
    }
    first, second, third = calls(project, "call.finished")
    expected = (
        own
        | ended
        | {f"{name}_tokens": count for name, count in tokens.items()}
        | {"model": "rich-exact"}
    )
    assert first | {"seconds": 0} == expected | {
        "response": "1-ask-response.txt",
        "error": None,
        "error_kind": None,
    } | {"seconds": 0}
    assert (second["cost_usd"], second["parts"], second["number"]) == (0.25, None, 2)
    assert (third["cost_usd"], third["input_tokens"], third["output_tokens"]) == (0.0, 0, 0)
    assert (third["cache_read_tokens"], third["number"]) == (None, 3)
    folder = project.run_folder
    assert {
        "1-ask.txt",
        "1-ask-response.txt",
        "1-ask-response.json",
        "1-ask-response-parts.json",
    } <= names(folder)
    assert json.loads((folder / "1-ask-response.json").read_bytes()) == {"id": "tool"}
    assert [
        part["type"] for part in json.loads((folder / "1-ask-response-parts.json").read_bytes())
    ] == [
        "text",
        "tool_call",
    ]
    assert [process["log"] for process in calls(project, "process.started")] == ["3-build.txt"]
    data = finished.events[-1]["data"]["data"]
    assert (data["model"], data["counted"]) == (["rich-1", 4096], [12, 0, None])
    document = json.loads((folder / "run.json").read_bytes())
    assert [(row["provider"], row["model"], row["calls"]) for row in document["models"]] == [
        ("rich", "rich-exact", 3)
    ]


def test_files_of_a_workflow_without_numbers_have_none(run, project: Project):
    finished = run("--unnumbered", CODE_COMMIT_HTTP__RETRIES="0")
    assert finished.exit_code == 4
    call_files = {f"ask{count}{end}" for count in ("", "-2") for end in (".txt", "-response.txt")}
    assert names(project.run_folder) == call_files | {
        "ask-response.json",
        "build.txt",
        "build-2.txt",
    }
    assert (
        project.run_folder / "ask-2-response.txt"
    ).read_text() == "ERROR\nrich-1: who is there\nhalf a reply"
    failed = calls(project, "call.finished")[1]
    assert (failed["error"], failed["error_kind"], failed["number"]) == (
        "rich-1: who is there",
        "network",
        2,
    )
    assert (failed["finish"], failed["finish_detail"], failed["input_tokens"]) == (None, "", None)
    assert (failed["cost_usd"], failed["response"]) == (None, "ask-2-response.txt")
    assert "hint: check the connection and the address\n" in finished.stderr
    shown = [
        line.partition("] ")[2] for line in finished.stderr.splitlines() if line.startswith("[")
    ]
    assert shown[0] == "unnumbered, log in logs/" + project.run_folder.name
    assert shown[1:] == ["asking rich-1", f"rich-1 failed after {failed['seconds']:.1f} s"]
