"""Agents with the three protocols: a scripted service, native calls, real tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from code_commit.plugin_api import Finish, ToolCall
from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

PROVIDERS = {
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY"),
    "openai": ("gpt-5", "OPENAI_API_KEY"),
    "anthropic": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
}
WORKFLOW = """
from code_commit.plugin_api import (
    Flag, Message, Outcome, Result, Text, WorkflowDefinition, hookimpl, parts_to_json
)

@hookimpl
def code_commit_workflows():
    return [WorkflowDefinition("agent", "a test", (Flag(("--agent",), "work", selects=True),), "agent_plugin:work")]

def work(run):
    from code_commit_toolbox.agent import run_agent
    from code_commit_toolbox.toolbox import open_toolbox

    allow = ("read_file", "write_file", "str_replace", "code_search", "final_output")
    killed = (Message("user", (Text("First words."),)),)  # the conversation of a run that was killed
    result = run_agent(
        run, run.model(), open_toolbox(run), allow=allow, system="Be brief.", prompt="Do it.", history=killed
    )
    parts = [part for message in result.messages for part in parts_to_json(message.parts)]
    answers = [part for part in parts if part["type"] == "tool_result"]
    return Result(Outcome.REACHED, result.end.name, {"text": result.text, "answers": answers})
"""


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return request.param


@pytest.fixture
def agent(provider, tmp_path):
    """Return a function that runs an agent on scripted replies in one of the protocols."""
    project = Project.create(
        tmp_path, files={"a.txt": "one\n", "b.txt": "two\n", "m.py": "print(1)\n"}
    )
    plugins = [install_plugin(tmp_path / "plugins", "agent", WORKFLOW)]
    model, variable = PROVIDERS[provider]

    def work(*replies: Reply):
        with ScriptedServer(replies) as server:
            environ = {
                variable: "sk-canary-0123456789-key7Q",
                "CODE_COMMIT_SANDBOX": "off",
                **server.environment(),
            }
            finished = project.command(
                "--agent", "--model", model, "--json", environ=environ, plugins=plugins
            )
            return (
                project,
                finished.events[-1]["data"],
                [request.json for request in server.requests],
            )

    return work


def called(number: int, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{number}", name, arguments)


def results_in(provider: str, request: dict[str, Any]) -> list[str]:
    """Return the results of the last calls, in the order that the service receives them."""
    if provider == "openai":
        messages = request["messages"]
        last = max(
            place for place, message in enumerate(messages) if message["role"] == "assistant"
        )
        return [message["content"] for message in messages[last + 1 :] if message["role"] == "tool"]
    if provider == "anthropic":
        return [
            block["content"]
            for block in request["messages"][-1]["content"]
            if block["type"] == "tool_result"
        ]
    responses = [part["functionResponse"]["response"] for part in request["contents"][-1]["parts"]]
    return [next(iter(response.values())) for response in responses]


def test_new_words_stand_apart_from_those_before_a_kill(agent, provider):
    _, _, requests = agent(Reply("I see."))
    message = requests[0]["contents" if provider == "gemini" else "messages"][-1]
    content = message.get("content", message.get("parts"))
    texts = [content] if isinstance(content, str) else [part["text"] for part in content]
    assert "".join(texts) == "First words.\n\nDo it."


def test_parallel_calls_are_answered_together_and_in_order(agent, provider):
    both = Reply(
        tool_calls=(called(1, "read_file", path="a.txt"), called(2, "read_file", path="b.txt"))
    )
    change = Reply(
        "Now I know.",
        tool_calls=(
            called(3, "str_replace", path="a.txt", old_str="one", new_str="1"),
            called(4, "code_search", searches=[{"pattern": "print($A)", "language": "python"}]),
        ),
    )
    project, ending, requests = agent(
        both, change, Reply(tool_calls=(called(5, "final_output", summary="changed"),))
    )
    assert (ending["summary"], ending["data"]["text"]) == ("FINISHED", "changed")
    assert results_in(provider, requests[1]) == ["one\n", "two\n"]
    assert "m.py:1: print(1)" in results_in(provider, requests[2])[1]
    assert project.read("a.txt") == "1\n"
    assert json.dumps(requests[0]).count("description") > 5


def test_forbidden_or_malformed_calls_return_an_error(agent, provider):
    wrong = Reply(
        tool_calls=(
            called(1, "shell", command="touch owned"),
            ToolCall("call_2", "read_file", None, raw='{"path": "a.t'),
            called(3, "read_file", file="a.txt"),
            called(4, "write_file", path=".git/hooks/pre-commit", content="x"),
        )
    )
    project, ending, requests = agent(wrong, Reply("I see."))
    assert ending["summary"] == "FINISHED"
    assert [answer["is_error"] for answer in ending["data"]["answers"]] == [True] * 4
    texts = results_in(provider, requests[1])
    for text, words in zip(
        texts,
        ("no tool 'shell'", "not a JSON object", "'path' is a required", "cannot be written"),
        strict=True,
    ):
        assert words in text
    assert not (project.root / "owned").exists()
    assert not (project.root / ".git/hooks/pre-commit").exists()


def test_thinking_and_signatures_go_back(agent, provider):
    if provider == "openai":
        pytest.skip("OpenAI's API returns no thinking")
    thoughtful = Reply(
        "I look.",
        thinking="deep thoughts",
        signature="c2lnbmVkIQ==",
        tool_calls=(called(1, "read_file", path="a.txt"),),
    )
    _, ending, requests = agent(thoughtful, Reply("done"))
    assert ending["summary"] == "FINISHED"
    assert "c2lnbmVkIQ==" in json.dumps(requests[1])


def test_an_incomplete_reply_runs_nothing(agent, provider):
    cut = Reply(
        tool_calls=(called(1, "write_file", path="cut.txt", content="hal"),), finish=Finish.LENGTH
    )
    project, ending, requests = agent(cut, Reply("done"))
    assert ending["summary"] == "FINISHED"
    assert "Not run" in results_in(provider, requests[1])[0]
    assert not (project.root / "cut.txt").exists()


def test_the_conversation_is_marked_for_the_cache(agent, provider):
    if provider != "anthropic":
        pytest.skip("the other services need no marks")
    look = [
        Reply(tool_calls=(called(number, "read_file", path="ab"[number % 2] + ".txt"),))
        for number in range(4)
    ]
    _, _, requests = agent(*look, Reply("done"))
    marked = [
        ["cache_control" in message["content"][-1] for message in request["messages"]]
        for request in requests
    ]
    assert marked[0] == [True]
    assert marked[3] == [True, False, False, False, True, False, True]
