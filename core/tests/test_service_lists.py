"""`code-commit models --refresh` with one service: what it lists is known from then on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin

KEY = "sk-canary-0123456789-key7Q"
# A plugin whose function takes no page.
BROKEN = """
from pydantic import BaseModel
from code_commit.plugin_api import *

class Config(BaseModel):
    model: str = "m"

class Wire:
    def __init__(self, config):
        pass
    encode = decode = decode_models = print
    def encode_models(self):
        pass

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("broken", {}, "https://example.org/v1", None, None, ("key", "{key}"),
                               "broken_plugin:Config", "broken_plugin:Wire")]
"""
LISTED = Reply(body=json.dumps({"data": [{"id": "gpt-99"}, {"id": KEY}]}).encode())


@pytest.fixture
def run(tmp_path):
    project = Project.create(tmp_path)

    def run(
        *arguments: str, replies: Any = (), key: str | None = KEY, plugins: Any = ()
    ) -> tuple[Finished, list[Any]]:
        with ScriptedServer(replies) as server:
            environ = {"CODE_COMMIT_SANDBOX": "off"}
            if key:
                environ |= {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": server.url("openai")}
            return project.command(*arguments, environ=environ, plugins=plugins), server.requests

    return run


def names(finished: Finished) -> dict[str, Any]:
    return {row["model"]: row["provider"] for row in finished.document["models"]}


def test_a_listed_model_is_asked_by_its_name(run):
    finished, requests = run("models", "--refresh", "--json", replies=[LISTED])
    assert finished.exit_code == 0
    assert [(request.method, request.path) for request in requests] == [("GET", "/v1/models")]
    assert "openai lists 2 models" in finished.stderr
    assert names(finished)["gpt-99"] == "openai"
    assert not any(
        KEY in text or f"***{KEY[-2:]}" in text for text in (finished.stdout, finished.stderr)
    )
    finished, requests = run(
        "--model", "gpt-99", "--query", "q", replies=["^^^a.txt\nnew\n^^^end\n"]
    )
    assert (finished.exit_code, requests[0].model) == (0, "gpt-99"), finished.stderr
    assert run("--model", "gpt-98", "--query", "q")[0].exit_code == 2


def test_a_service_that_fails_keeps_its_earlier_list(run):
    run("models", "--refresh", replies=[LISTED])
    for reply in (Reply.error(401), Reply(body=b'{"data": 3}')):
        finished, _ = run("models", "--refresh", "--json", replies=[reply])
        assert (finished.exit_code, finished.stderr.count("error: ")) == (4, 1)
        assert names(finished)["gpt-99"] == "openai"
    run("models", "--refresh", replies=[Reply(body=b'{"data": []}')])
    assert names(run("models", "--json")[0])["gpt-99"] == "openai"


def test_one_listed_model_is_one_model(run):
    finished, _ = run("models", "--refresh", replies=[Reply(body=b'{"data": [{"id": "gpt-99"}]}')])
    assert "openai lists 1 model\n" in finished.stderr


def test_a_broken_plugin_is_named_and_the_others_are_asked(run, tmp_path):
    broken = install_plugin(tmp_path / "plugins", "broken", BROKEN)
    finished, _ = run("models", "--refresh", "--json", replies=[LISTED], plugins=[broken])
    assert finished.exit_code == 4
    assert (
        "error: the provider broken of code-commit-broken failed: TypeError: Wire.encode_models()"
        in finished.stderr
    )
    assert names(finished)["gpt-99"] == "openai"


def test_without_a_key_it_is_not_asked(run):
    finished, requests = run("models", "--refresh", key=None)
    assert (finished.exit_code, requests) == (3, [])
    assert "openai was not asked: " in finished.stderr


def test_people_read_a_table(run):
    finished, _ = run("models", "--refresh", replies=[LISTED])
    assert [line.split() for line in finished.stdout.splitlines() if "gpt-99" in line] == [
        ["gpt-99", "openai"]
    ]
    assert "openai/ANY-ID" in finished.stdout


def test_a_service_without_a_key_and_without_known_models_lists_its_models(run, tmp_path):
    code = """
from pydantic import BaseModel
from code_commit.plugin_api import HttpCall, ProviderDefinition, hookimpl, reply_object

class Config(BaseModel):
    model: str

class Wire:
    def __init__(self, config):
        pass
    encode = decode = print
    def encode_models(self, page=b""):
        return None if page else HttpCall("/tags", {}, method="GET")
    def decode_models(self, status, headers, body):
        return reply_object(body, status, headers)

@hookimpl
def code_commit_providers():
    code = {"config": f"{__name__}:Config", "factory": f"{__name__}:Wire"}
    return [ProviderDefinition("local", {}, "http://127.0.0.1:1", "OPENAI_BASE_URL", **code)]
"""
    plugins = [install_plugin(tmp_path / "plugins", "local", code)]
    listed = Reply(body=b'{"small-1": 4096}')
    flags = ("--disable-plugin", "openai", "models", "--refresh", "--json")
    finished, requests = run(*flags, replies=[listed], plugins=plugins)
    assert (finished.exit_code, names(finished)["small-1"]) == (0, "local"), finished.stderr
    assert KEY not in str([request.headers for request in requests])
