"""Streamed replies in the three protocols, through the command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from code_commit.plugin_api import Finish, StreamEvent, ToolCall, Usage
from code_commit_testing import Project, Reply, ScriptedServer, Stream, install_plugin

PROVIDERS = {
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY"),
    "openai": ("gpt-5", "OPENAI_API_KEY"),
    "anthropic": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
}
KEY = "sk-canary-0123456789-key7Q"
SETTINGS = {"CODE_COMMIT_STREAM": "always", "CODE_COMMIT_SANDBOX": "off"}
GOOD = "^^^a.txt\nnew é 🙂\n^^^end\n"
BUSY = Reply.error(500, "the model is busy")
WORKFLOW = """
from code_commit.plugin_api import Flag, Outcome, Result, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    return [WorkflowDefinition("agent", "a test", (Flag(("--agent",), "work", selects=True),), "agent_plugin:work")]

def work(run):
    from code_commit_toolbox.agent import run_agent
    from code_commit_toolbox.toolbox import open_toolbox

    result = run_agent(run, run.model(), open_toolbox(run), allow=("read_file", "write_file"), system="", prompt="Do it.")
    return Result(Outcome.REACHED, result.end.name, {"text": result.text})
"""


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return request.param


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made", files={"a.txt": "old\n"})


@pytest.fixture
def command(provider, project):
    """Return a function that runs the command on scripted replies, streamed, and returns the
    requests too.
    """
    model, variable = PROVIDERS[provider]

    def command(*arguments: str, replies: tuple[Reply, ...], plugins: tuple = (), **environ: str):
        with ScriptedServer(replies) as server:
            environ = {**SETTINGS, variable: KEY, **server.environment(), **environ}
            finished = project.command(
                *arguments, "--model", model, environ=environ, plugins=plugins
            )
            return finished, server.requests

    return command


def kept(project: Project, name: str) -> str:
    (folder,) = (path for path in (project.root / "logs").iterdir() if path.is_dir())
    return (folder / name).read_text("utf-8")


def asks_to_stream(request: Any) -> bool:
    return ":streamGenerateContent" in request.path or request.json.get("stream") is True


def test_a_commit(command, project):
    thoughtful = Reply(GOOD, thinking="a private thought")
    finished, (request,) = command(replies=(thoughtful,))
    assert (finished.exit_code, project.read("a.txt")) == (0, "new é 🙂\n"), finished.stderr
    assert asks_to_stream(request)
    assert kept(project, "1-initial-query-response.txt") == GOOD
    assert "a private thought" not in finished.stdout


@pytest.mark.parametrize(("text", "exit_code"), [(GOOD, 0), ("^^^a.txt\nnew", 5)])
def test_an_empty_reason_ends_a_stream_that_the_server_ended(project, text, exit_code):
    chunk = {"choices": [{"delta": {"content": text}, "finish_reason": ""}]}
    events = [StreamEvent("", data) for data in (json.dumps(chunk).encode(), b"[DONE]")]
    with ScriptedServer([Reply(stream=Stream(events=events))]) as server:
        environ = {**SETTINGS, "OPENAI_API_KEY": KEY, **server.environment()}
        finished = project.command("--model", "gpt-5", "--repairs", "0", environ=environ)
    assert finished.exit_code == exit_code, finished.stderr


def test_streamed_and_whole_runs_tell_the_same(command):
    printed = []
    for setting in ("always", "never"):
        finished, (request,) = command(
            "--json", "--dry-run", replies=(Reply(GOOD),), CODE_COMMIT_STREAM=setting
        )
        assert asks_to_stream(request) is (setting == "always")
        call = next(event["data"] for event in finished.events if event["kind"] == "call.finished")
        printed.append({name: value for name, value in call.items() if name != "seconds"})
    assert printed[0] == printed[1]


def test_an_agent_with_tools_and_signatures(command, provider, project, tmp_path):
    plugins = (install_plugin(tmp_path / "plugins", "agent", WORKFLOW),)
    replies = (
        Reply(
            "I look.",
            thinking="deep thoughts",
            signature="c2lnbmVkIQ==",
            tool_calls=(
                ToolCall("c1", "read_file", {"path": "a.txt"}),
                ToolCall("c2", "read_file", {"path": "b.txt"}),
            ),
        ),
        Reply(
            tool_calls=(ToolCall("c3", "write_file", {"path": "a.txt", "content": "new é 🙂\n"}),)
        ),
        Reply("Done.", stream=Stream(piece=1)),
    )
    finished, requests = command("--agent", "--json", replies=replies, plugins=plugins)
    assert finished.events[-1]["data"]["data"]["text"] == "Done.", finished.stderr
    assert project.read("a.txt") == "new é 🙂\n"
    assert all(map(asks_to_stream, requests))
    second = json.dumps(requests[1].json)
    assert second.index("deep thoughts") < second.index("old")
    assert ("c2lnbmVkIQ==" in second) is (provider != "openai")


@pytest.mark.fast_rows(1)  # the providers' own tests have the events of each protocol
def test_an_error_in_the_middle_is_retried_from_the_start(command, project):
    broken = Reply(GOOD, stream=Stream(after=3, then=BUSY))
    finished, requests = command("--json", replies=(broken, Reply(GOOD)))
    assert (finished.exit_code, len(requests)) == (0, 2), finished.stderr
    assert project.read("a.txt") == "new é 🙂\n"
    (retried,) = (event["data"] for event in finished.events if event["kind"] == "call.retried")
    assert "the model is busy" in retried["reason"]


@pytest.mark.fast_rows(1)
def test_a_reply_that_breaks_off_is_never_applied(command, project):
    broken = Reply(GOOD, stream=Stream(after=4, then="end"))
    finished, requests = command(replies=(broken,), CODE_COMMIT_HTTP__RETRIES="0")
    assert (finished.exit_code, len(requests)) == (4, 1), finished.stderr
    assert project.read("a.txt") == "old\n"


def test_an_error_of_google_that_is_no_event(command, project, provider):
    if provider != "gemini":
        pytest.skip("only Google sends such errors")
    # Old models: in each.
    part = {"candidates": [{"content": {"parts": [{"text": GOOD}]}, "finishReason": "STOP"}]}
    error = json.dumps(
        {"error": {"code": 499, "message": "cancelled", "status": "CANCELLED"}}, indent=2
    )
    body = f"data: {json.dumps(part)}\r\n\r\n{error}\n".encode()
    broken = Reply(body=body, headers={"content-type": "text/event-stream"})
    finished, _ = command(replies=(broken,), CODE_COMMIT_HTTP__RETRIES="0")
    assert (finished.exit_code, project.read("a.txt")) == (4, "old\n"), finished.stderr


@pytest.mark.parametrize("finish", [Finish.REFUSED, Finish.FILTERED])
def test_a_refusal_ends_the_run(command, project, provider, finish):
    if (provider, finish) == ("gemini", Finish.REFUSED):
        pytest.skip("Gemini filters and never refuses")
    finished, requests = command(replies=(Reply("I cannot do that.", finish=finish),))
    assert (finished.exit_code, len(requests)) == (4, 1), finished.stderr
    assert ("refused" if finish is Finish.REFUSED else "filtered") in finished.stderr
    assert project.read("a.txt") == "old\n"


@pytest.mark.fast_rows(1)
def test_a_reply_that_was_cut_short_is_repaired(command, project):
    cut = Reply("^^^a.txt\nhalf", finish=Finish.LENGTH)
    finished, requests = command(replies=(cut, Reply(GOOD)))
    assert (finished.exit_code, len(requests), project.read("a.txt")) == (0, 2, "new é 🙂\n"), (
        finished.stderr
    )


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("usage", [Usage(1000, 20), None], ids=["usage", "no usage"])
@pytest.mark.parametrize("then", ["drop", "stall"])
def test_a_connection_that_breaks_off_after_the_end_of_the_reply_costs_nothing(
    command, project, provider, then, usage
):
    reply = Reply(GOOD, usage=usage, stream=Stream(after=1000, then=then))
    # Where the machine stands still so long, the reply itself breaks off.
    for seconds in ("0.3", "5", "60"):
        setting = {"CODE_COMMIT_HTTP__STALL_SECONDS": seconds}
        finished, requests = command("--json", replies=(reply, Reply("not asked for")), **setting)
        if len(requests) == 1:
            break
    assert (finished.exit_code, len(requests), project.read("a.txt")) == (0, 1, "new é 🙂\n"), (
        finished.stderr
    )
    (call,) = (event["data"] for event in finished.events if event["kind"] == "call.finished")
    assert (call["output_tokens"], call["error"]) == (20 if usage else None, None)
    # The other protocols have a last event, after which no number comes.
    may_come = provider == "gemini" and usage is None
    assert ("before the number of its tokens came" in finished.stdout) is may_come
