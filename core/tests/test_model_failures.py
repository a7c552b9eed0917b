"""What a run says and keeps when a model call fails."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from code_commit.models.call_log import refusal
from code_commit.plugin_api import Completion, Finish, Message, Text, Usage
from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin
from code_commit_workspace import Redactor

KEY = "sk-proj-canary-0123456789"
OTHER = "sk-proj-second-9876543210"
WORKFLOW = """
from code_commit.plugin_api import (
    Flag,
    Message,
    Outcome,
    Request,
    Result,
    Text,
    ToolResult,
    WorkflowDefinition,
)
from code_commit.plugin_api import hookimpl
from code_commit_testing.loopback_provider import code_commit_providers


@hookimpl
def code_commit_workflows():
    flag = Flag(("--ask",), "ask once", selects=True)
    return [WorkflowDefinition("asking", "ask once", (flag,), "asking_plugin:run", writes=False)]


def run(run):
    completion = run.model().complete({request}, label="ask")
    return Result(Outcome.REACHED, completion.text)
"""


REQUEST = 'Request((Message("user", (Text("hi"),)),))'


@pytest.fixture
def ask(project, tmp_path):
    def ask(
        reply: Reply,
        *arguments: str,
        request: str = REQUEST,
        model: str = "loopback-1",
        **environ: str,
    ) -> Finished:
        plugins = install_plugin(tmp_path / "plugins", "asking", WORKFLOW.format(request=request))
        with ScriptedServer([reply]) as server:
            variables = {
                "LOOPBACK_BASE_URL": server.url("openai"),
                "LOOPBACK_API_KEY": KEY,
                **environ,
            }
            return project.command(
                "--ask", "--model", model, *arguments, plugins=[plugins], environ=variables
            )

    return ask


AGAIN = """
def run(run):
    told = []
    for request in {requests}:
        try:
            run.model().complete(request(), label="ask")
        except Exception as error:
            told.append([type(error).__name__, str(error), getattr(error, "hint", "")])
    return Result(Outcome.REACHED, "done", {{"told": told}})
"""


@pytest.fixture
def fail(project, tmp_path):
    """Return a function that sends requests in one run; it returns name, message and hint of each
    error.
    """

    def fail(
        *replies: Reply, requests: str = "", model: str = "loopback-1", **environ: str
    ) -> list[list[str]]:
        code = WORKFLOW.partition("def run")[0] + AGAIN
        code = code.format(requests=requests or f"[lambda: {REQUEST}] * {len(replies)}")
        plugins = install_plugin(tmp_path / "plugins", "asking", code)
        with ScriptedServer(replies) as server:
            variables = {
                "LOOPBACK_BASE_URL": server.url("openai"),
                "LOOPBACK_API_KEY": KEY,
                **environ,
            }
            finished = project.command(
                "--ask", "--model", model, "--json", plugins=[plugins], environ=variables
            )
        errors: list[list[str]] = finished.events[-1]["data"]["data"]["told"]
        return errors

    return fail


def response(project: Project, number: int = 1) -> str:
    return (project.run_folder / f"{number}-ask-response.txt").read_text()


def test_the_run_folder_keeps_the_reply_of_a_failed_call_unless_it_may_quote_the_key(fail, project):
    project.write({"agent-config/second-key.txt": OTHER})
    stream = b": PROCESSING\n\ndata: {}\n\n"
    quoting = f"what you sent, {KEY[:4]}…, is wrong"
    errors = fail(
        Reply(status=400, body=b'{"error": {"message": "no", "details": [{"field": "x"}]}}'),
        Reply.html(),
        Reply.error(400, f"you sent {OTHER}"),
        *(
            Reply(body=stream, headers={"content-type": kind})
            for kind in ("text/event-stream; a=b", "Text/Event-Stream")
        ),
        Reply.error(403, quoting, code="SERVICE_DISABLED"),
        Reply.error(401, quoting, code="invalid_api_key"),
    )
    assert [name for name, *_ in errors] == ["ProviderFailed"] * 7
    responses = [response(project, number) for number in range(1, 8)]
    assert [text.split("\n")[:2] for text in responses] == [
        ["ERROR", message] for _, message, _ in errors
    ]
    bodies = [text.split("\n", 2)[2] for text in responses]
    assert json.loads(bodies[0])["error"]["details"] == [{"field": "x"}]
    assert "the reply is a web page, not JSON" in errors[1][1]
    assert bodies[1].endswith("<h1>Welcome</h1></body></html>")
    assert f"you sent ***{OTHER[-2:]}" in errors[2][1]
    assert OTHER[8:] not in responses[2]  # it is redacted before parts of the own key
    assert [
        "the reply is a stream of events, not JSON" in message for _, message, _ in errors[3:5]
    ] == [True] * 2
    assert bodies[3].encode() == stream
    source = "; the key is from variable LOOPBACK_API_KEY"
    assert errors[5][1].endswith(
        f"the key does not have permission for this (HTTP 403): SERVICE_DISABLED{source}"
    )
    assert errors[6][1].endswith(
        f"the service rejected the key (HTTP 401): invalid_api_key{source}"
    )
    assert bodies[5:] == ["", ""]
    assert "what you sent" not in "".join(message for _, message, _ in errors)
    assert errors[6][2].startswith("check that the key is for this service")


def test_a_call_without_a_key_that_is_not_accepted_says_how_to_name_one(fail):
    [(_, _, hint)] = fail(Reply.error(401, "who are you"), LOOPBACK_API_KEY="")
    assert hint.startswith("no key was sent to this address: set api_key or api_key_file")


@pytest.mark.slow
def test_an_error_appears_once(ask):
    finished = ask(Reply.error(400, "no such field"))
    assert finished.stderr.count("no such field") == 1
    assert "loopback-1 failed after" in finished.stderr


def test_the_time_limit_of_a_call_is_a_setting(ask):
    finished = ask(Reply(fault="hang"), CODE_COMMIT_HTTP__DEADLINE_SECONDS="0.2")
    assert finished.exit_code == 4
    assert "the call reached its time limit before the end of the reply" in finished.stderr


@pytest.mark.slow
def test_a_refused_connection_is_said_once_with_one_advice(ask):
    finished = ask(
        Reply("hi"), LOOPBACK_BASE_URL="http://127.0.0.1:9", CODE_COMMIT_HTTP__RETRIES="0"
    )
    assert finished.stderr.count("cannot connect") == 1
    assert finished.stderr.count("check the ") == 1


def test_a_bug_of_a_wire_names_the_mistake_the_reply_and_where_to_look(ask, project):
    finished = ask(Reply(body=b'{"answer": 1}'), "--debug")
    assert finished.exit_code == 4
    assert "its plugin could not read the reply (HTTP 200): KeyError: 'choices'" in finished.stderr
    assert "the provider's plugin has a bug, and --debug shows where" in finished.stderr
    assert "loopback_provider.py" in finished.stderr
    assert response(project).endswith('{"answer": 1}')


def test_what_is_no_request_names_the_mistake(fail):
    mistakes = {
        'Request((Message("user", "hi"),))': "the parts of a Message are Text, ToolCall, ToolResult and Opaque",
        'Request((Message("user", (Text("hi"))),))': "the parts of a Message are Text, ToolCall, ToolResult and Opaque",
        'Request((Message("usr", (Text("hi"),)),))': "the role of a Message is 'user' or 'assistant', not 'usr'",
        'Request((Message("user", (Text(b"hi"),)),))': "the text of a Text or a ToolResult is of type str, not b'hi'",
        'Request((Message("user", (Text("hi"),)),), b"x")': "the system prompt of a Request is of type str, not b'x'",
        'Request("hi")': "the messages of a Request are of type Message, not 'hi'",
        'Request((Message("user", ())))': "the messages of a Request are of type Message, not Message(role='user'",
        '"hi"': "a model takes a Request((Message('user', (Text('hi'),)),)), not 'hi'",
    }
    errors = fail(requests=f"[{', '.join(f'lambda: {mistake}' for mistake in mistakes)}]")
    assert [
        (name, message[: len(expected)])
        for (name, message, _), expected in zip(errors, mistakes.values(), strict=True)
    ] == [
        ("ValueError" if "the role" in expected else "TypeError", expected)
        for expected in mistakes.values()
    ]


CALLS = """
from dataclasses import replace
from code_commit.plugin_api import *
from code_commit_testing.scripted_provider import SCRIPTED, ScriptedProvider


def made(config):
    return ScriptedProvider(
        Completion(
            Message("assistant", (part,)), Finish[finish], "why", Usage(1, 1), "caller-1", {{}}
        )
        for part, finish in {replies}
    )


@hookimpl
def code_commit_providers():
    return [replace(SCRIPTED, name="caller", models={{"caller-1": ()}}, factory="caller_plugin:made")]
"""


def test_a_live_key_in_a_tool_call_is_refused(fail, project, tmp_path):
    calls = [
        ({"content": [{"deep": KEY}]}, ""),
        ({"content": f"key = {KEY}"}, ""),
        (None, f"no JSON, but {KEY}"),
        ({}, f"only raw {KEY}"),
        ({"content": KEY}, '{"content": "' + KEY.replace("c", r"\u0063") + '"}'),
    ]
    replies = ", ".join(
        f"(ToolCall('c1', 'write', {arguments}, raw={raw!r}), 'TOOL_CALLS')"
        for arguments, raw in calls
    )
    install_plugin(tmp_path / "plugins", "caller", CALLS.format(replies=f"[{replies}]"))
    errors = fail(requests=f"[lambda: {REQUEST}] * 5", model="caller-1")
    assert [(name, message) for name, message, _ in errors] == [
        ("ResponseRefused", f"the response of call {number} contains an API key")
        for number in range(1, 6)
    ]
    assert {hint.partition(":")[0] for *_, hint in errors} == {
        "remove it from where the model saw it"
    }
    assert KEY not in "".join(
        path.read_text() for path in project.run_folder.iterdir() if path.is_file()
    )


@pytest.mark.slow
def test_a_hook_of_an_absent_plugin_says_how_to_mark_it(project, tmp_path):
    code = "from code_commit.plugin_api import hookimpl\n\n@hookimpl\ndef code_commit_fleet_done(unit): pass\n"
    plugins = install_plugin(tmp_path / "plugins", "guest", code)
    finished = project.command("plugins", "doctor", plugins=[plugins])
    assert finished.exit_code == 1
    assert "@hookimpl(optionalhook=True)" in finished.stdout + finished.stderr


SEES = """
from dataclasses import replace
from code_commit.plugin_api import *
from code_commit_testing.scripted_provider import SCRIPTED

class Provider:
    def complete(self, call):
        texts = [call.request.system, *(part.text for part in call.request.messages[0].parts)]
        message = Message("assistant", (Text(" ".join(texts)[::-1]),))
        return Completion(message, Finish.STOP, "stop", Usage(1, 1), "seer-1", {})
    def close(self): pass

def made(config): return Provider()

@hookimpl
def code_commit_providers():
    return [replace(SCRIPTED, name="seer", models={"seer-1": ()}, factory="seer_plugin:made")]
"""


def test_no_part_of_a_request_holds_a_key(ask, tmp_path):
    install_plugin(tmp_path / "plugins", "seer", SEES)
    parts = f'(Text("text {KEY}"), ToolResult("1", "read", "file {KEY}"))'
    request = f'Request((Message("user", {parts}),), system="system {KEY}")'
    finished = ask(Reply("unused"), "--json", request=request, model="seer-1")
    shown = f"***{KEY[-2:]}"
    assert (
        finished.events[-1]["data"]["summary"][::-1] == f"system {shown} text {shown} file {shown}"
    )


def test_a_failure_of_a_provider_is_final_and_keeps_its_words(fail, tmp_path):
    body = 'raise ProviderFailed("it is over", hint="nothing helps")'
    code = re.sub(
        "        texts = .*?        return [^\n]*", f"        {body}", SEES, flags=re.DOTALL
    )
    install_plugin(tmp_path / "plugins", "seer", code)
    assert fail(requests=f"[lambda: {REQUEST}]", model="seer-1") == [
        ["ProviderFailed", "it is over", "nothing helps"]
    ]


def test_a_refused_completion_is_told_from_a_filtered_one(fail, project, tmp_path):
    replies = [("I will not.", "REFUSED"), ("I will not.", "FILTERED")]
    parts = ", ".join(f"(Text({text!r}), {finish!r})" for text, finish in replies)
    install_plugin(tmp_path / "plugins", "caller", CALLS.format(replies=f"[{parts}]"))
    says = ['caller-1 refused call 1 (why): "I will not."', "caller-1 filtered call 2 (why)"]
    assert fail(requests=f"[lambda: {REQUEST}] * 2", model="caller-1") == [
        ["ProviderFailed", text, "rephrase the query, or use another model"] for text in says
    ]
    assert [response(project, number) for number in (1, 2)] == [
        f"ERROR\n{text}\nI will not." for text in says
    ]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", ""),
        ("x " * 100 + "\n", f': "{"x " * 99}x"'),
        ("y" * 200, f': "{"y" * 200}"'),
        ("no\n" * 101, f': "{("no " * 67)[:199]}…"'),
    ],
)
def test_a_refusal_is_quoted_on_one_line(text, quoted):
    message = Message("assistant", (Text(text),))
    refused = Completion(message, Finish.REFUSED, "why", Usage(), "caller-1", {})
    assert refusal(refused, 7, Redactor()) == f"caller-1 refused call 7 (why){quoted}"
    assert refusal(replace(refused, finish=Finish.LENGTH), 7, Redactor()) == ""
