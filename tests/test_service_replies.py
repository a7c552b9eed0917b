"""Replies of the three services that are unusual or wrong, in a commit."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer, Stream
from code_commit_testing.scripted_events import events_of
from code_commit_testing.scripted_replies import answer_of

GOOD = Reply("^^^a.txt\nnew\n^^^end\n")
MODELS = {"gemini": "gemini-2.5-pro", "openai": "gpt-5", "anthropic": "claude-sonnet-5"}
BILLING = "You exceeded your current quota, please check your plan and billing details."


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made")


@pytest.fixture
def commit(project):
    def commit(provider: str, *replies: Reply, **settings: str):
        with ScriptedServer(replies) as server:
            keys = {f"{name.upper()}_API_KEY": "sk-canary-0123456789" for name in MODELS}
            environ = {**server.environment(), **keys, "CODE_COMMIT_SANDBOX": "off", **settings}
            finished = project.command(
                "--model", MODELS[provider], "--repairs", "1", environ=environ
            )
        return finished, server.requests

    return commit


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize(
    "text", ["^^^a.txt\nhalf M\n^^^end\n", "^^^M.txt\nx\n^^^end\n"], ids=["content", "path"]
)
def test_half_of_a_character_is_never_written(commit, project, provider, text) -> None:
    body = answer_of(provider, Reply(text))[1].replace(b"M", rb"\ud83d", 1)
    finished, requests = commit(provider, Reply(body=body), Reply(body=body))
    assert (finished.exit_code, len(requests)) == (5, 2), finished.stderr
    assert "lone surrogate (U+D83D)" in finished.stderr
    assert sorted(path.name for path in project.root.glob("*.txt")) == ["a.txt"]
    assert project.read("a.txt") == "old\n"


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("provider", MODELS)
def test_a_character_that_a_stream_splits_is_whole(commit, project, provider) -> None:
    """Some services stream UTF-16 units: a character beyond the first 65,536 then comes in two
    events.
    """
    answer = json.loads(answer_of(provider, Reply("^^^a.txt\nwhole MN\n^^^end\n"))[1])
    halves = {b"M": rb"\ud83d", b"N": rb"\ude42"}
    events = [
        replace(event, data=re.sub(rb'(?<=")[MN](?=")', lambda mark: halves[mark[0]], event.data))
        for event in events_of(provider, answer, piece=1)
    ]
    finished, _ = commit(provider, Reply(stream=Stream(events=events)), CODE_COMMIT_STREAM="always")
    assert finished.exit_code == 0, finished.stderr
    assert project.read("a.txt") == "whole \U0001f642\n"
    assert "whole \U0001f642\n" in (project.run_folder / "1-initial-query-response.txt").read_text(
        "utf-8"
    )


@pytest.mark.parametrize("streams", [False, True])
def test_a_number_beyond_all_floats_is_kept_as_json(commit, project, streams) -> None:
    data = answer_of("openai", GOOD)[1].replace(b"{", b'{"scores": [1e999, -1e999],\n', 1)
    # Several lines are written again as one.
    event = b"data: " + data.replace(b"\n", b"\ndata: ") + b"\n\n"
    reply = Reply(stream=Stream(events=[event])) if streams else Reply(body=data)
    finished, _ = commit("openai", reply, CODE_COMMIT_STREAM="always" if streams else "never")
    assert finished.exit_code == 0, finished.stderr
    text = (project.run_folder / "1-initial-query-response.json").read_text()
    assert ("1e999" if streams else '"-Infinity"') in text
    json.loads(text, parse_constant=pytest.fail)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("provider", MODELS)
def test_a_model_that_echoes_its_prompt_changes_nothing(commit, project, provider) -> None:
    finished, requests = commit(provider, *[lambda request: request.prompt] * 2)
    assert (finished.exit_code, project.read("a.txt")) == (5, "old\n")
    assert "repeats the block" in requests[1].prompt


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("provider", MODELS)
def test_a_function_call_that_was_not_offered_is_named_and_repaired(
    commit, project, provider
) -> None:
    call = Reply(tool_calls=(ToolCall("c1", "write_file", {"path": "a.txt"}),))
    finished, requests = commit(provider, call, GOOD)
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert "it called a function (`write_file`)" in finished.stderr
    assert "it called a function" in requests[1].prompt


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("gemini", "Your project has exceeded its monthly spending cap."),
        ("openai", "Insufficient balance"),
        ("anthropic", "This request would exceed your organization's monthly spend limit"),
        *(("gemini", BILLING), ("openai", BILLING), ("openai", "Monthly spending limit reached")),
    ],
)
def test_a_used_up_quota_is_not_retried(commit, provider, words) -> None:
    body = json.dumps(
        {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": words}}
    ).encode()
    finished, requests = commit(provider, Reply(status=429, body=body), GOOD)
    assert (finished.exit_code, len(requests)) == (4, 1)
    assert "the account's quota or credit is used up (HTTP 429)" in finished.stderr
    assert "check the plan and billing" in finished.stderr


@pytest.mark.parametrize(
    ("reason", "status", "says"),
    [
        ("API_KEY_INVALID", 400, "the service rejected the key (HTTP 400): API_KEY_INVALID"),
        (
            "SERVICE_DISABLED",
            403,
            "the key does not have permission for this (HTTP 403): SERVICE_DISABLED",
        ),
        (
            "IAM_PERMISSION_DENIED",
            403,
            "does not have permission for this (HTTP 403): IAM_PERMISSION_DENIED",
        ),
    ],
)
def test_a_wrong_key_is_told_from_a_disabled_service(commit, reason, status, says) -> None:
    error = {
        "code": status,
        "message": "words",
        "status": "PERMISSION_DENIED",
        "details": [{"reason": reason}],
    }
    finished, _ = commit("gemini", Reply(status=status, body=json.dumps({"error": error}).encode()))
    assert f"{says}; the key is from variable GEMINI_API_KEY" in finished.stderr


@pytest.mark.parametrize(
    ("details", "tries"),
    [([{"retryDelay": "0s"}], 2), ([{"violations": [{"quotaId": "PerMinute"}]}], 2)],
)
def test_a_limit_per_minute_passes(commit, details, tries) -> None:
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": BILLING, "details": details}
    limited = Reply(
        status=429, headers={"retry-after": "0"}, body=json.dumps({"error": error}).encode()
    )
    finished, requests = commit("gemini", limited, GOOD)
    assert (finished.exit_code, len(requests)) == (0, tries), finished.stderr


def test_an_unknown_provider_shows_how_to_reach_a_compatible_server(project) -> None:
    finished = project.command("--model", "ollama/llama3")
    assert finished.exit_code == 2
    assert "[providers.openai.ollama], then `--model openai.ollama`" in finished.stderr


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("provider", MODELS)
def test_a_number_of_tokens_that_no_call_has_is_unknown(commit, project, provider) -> None:
    body = re.sub(
        rb"(?i)(tokens?(?:count)?\": ?)\d+", rb"\g<1>" + b"9" * 400, answer_of(provider, GOOD)[1]
    )
    assert body.count(b"9" * 400) >= 2
    finished, _ = commit(provider, Reply(body=body), CODE_COMMIT_STREAM="never")
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    row = project.command("runs", "--json").document["runs"][0]
    assert (row["tokens"]["input"], row["cost_complete"]) == (None, False)


@pytest.mark.parametrize("wait", ["1e400", "9" * 400])
def test_a_wait_that_no_service_means_is_not_one(commit, wait) -> None:
    busy = Reply(status=503, headers={"Retry-After": wait})
    finished, requests = commit("openai", busy, GOOD)
    assert (finished.exit_code, len(requests)) == (0, 2), finished.stderr
