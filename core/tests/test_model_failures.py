"""What a run says and keeps when a model call fails."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from code_commit.models.call_log import refusal
from code_commit.plugin_api import Completion, Finish, Message, Text, Usage
from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin
from code_commit_workspace import Redactor

KEY = "sk-proj-canary-0123456789"
OTHER = "sk-proj-second-9876543210"
WORKFLOW = """
from code_commit.plugin_api import Flag, Message, Outcome, Request, Result, Text, ToolResult, WorkflowDefinition
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
    def ask(reply: Reply, *arguments: str, request: str = REQUEST, **environ: str) -> Finished:
        plugins = install_plugin(tmp_path / "plugins", "asking", WORKFLOW.format(request=request))
        with ScriptedServer([reply]) as server:
            given = {"LOOPBACK_BASE_URL": server.url("openai"), "LOOPBACK_API_KEY": KEY, **environ}
            return project.command("--ask", "--model", "loopback-1", *arguments, plugins=[plugins], environ=given)

    return ask


def response(project: Project) -> str:
    return (project.run_folder / "1-ask-response.txt").read_text()


@pytest.mark.slow
def test_the_run_folder_keeps_the_reply_of_a_failed_call(ask, project):
    finished = ask(Reply(status=400, body=b'{"error": {"message": "no", "details": [{"field": "x"}]}}'))
    assert finished.exit_code == 4, finished.stderr
    first, message, body = response(project).split("\n", 2)
    assert (first, message) == ("ERROR", finished.stderr.partition("error: ")[2].partition("\n")[0])
    assert json.loads(body)["error"]["details"] == [{"field": "x"}]


@pytest.mark.slow
def test_a_reply_that_is_no_json_is_kept_too(ask, project):
    finished = ask(Reply.html())
    assert "the reply is a web page, not JSON" in finished.stderr
    assert response(project).endswith("<h1>Welcome</h1></body></html>")


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (403, "SERVICE_DISABLED", "the key does not have permission for this (HTTP 403): SERVICE_DISABLED"),
        (401, "invalid_api_key", "the service rejected the key (HTTP 401): invalid_api_key"),
    ],
)
def test_a_key_that_is_not_accepted_is_named_by_its_source_and_its_reply_not_kept(ask, project, status, code, says):
    finished = ask(Reply.error(status, f"what you sent, {KEY[:4]}…, is wrong", code=code))
    assert finished.exit_code == 4
    says += "; the key is from variable LOOPBACK_API_KEY"
    assert finished.stderr.partition("error: ")[2].partition("\n")[0].endswith(says)
    assert response(project).endswith(says + "\n")
    assert "what you sent" not in finished.stderr + response(project)


@pytest.mark.slow
def test_a_call_without_a_key_that_is_not_accepted_says_how_to_name_one(ask):
    finished = ask(Reply.error(401, "who are you"), LOOPBACK_API_KEY="")
    assert finished.exit_code == 4
    assert "hint: no key was sent to this address: set api_key or api_key_file" in finished.stderr


@pytest.mark.slow
def test_an_error_appears_once(ask, project):
    finished = ask(Reply.error(400, "no such field"))
    assert finished.stderr.count("no such field") == 1
    assert "loopback-1 failed after" in finished.stderr


def test_the_time_limit_of_a_call_is_a_setting(ask):
    finished = ask(Reply(fault="hang"), CODE_COMMIT_HTTP__DEADLINE_SECONDS="0.2")
    assert finished.exit_code == 4
    assert "the call reached its time limit before the end of the reply" in finished.stderr


@pytest.mark.slow
def test_a_refused_connection_is_said_once_with_one_advice(ask):
    finished = ask(Reply("hi"), LOOPBACK_BASE_URL="http://127.0.0.1:9", CODE_COMMIT_HTTP__RETRIES="0")
    assert finished.stderr.count("cannot connect") == 1
    assert finished.stderr.count("check the ") == 1


def test_every_key_is_redacted_before_parts_of_the_own_one(ask, project):
    project.write({"agent-config/second-key.txt": OTHER})
    finished = ask(Reply.error(400, f"you sent {OTHER}"))
    assert f"you sent ***{OTHER[-2:]}" in finished.stderr
    assert OTHER[8:] not in finished.stderr + response(project)


@pytest.mark.parametrize("kind", ["text/event-stream; charset=utf-8", "Text/Event-Stream"])
def test_a_stream_of_events_is_recognized_by_its_content_type(ask, kind):
    finished = ask(Reply(body=b": PROCESSING\n\ndata: {}\n\n", headers={"content-type": kind}))
    assert "the reply is a stream of events, not JSON" in finished.stderr


def test_a_bug_of_a_wire_names_the_mistake_the_reply_and_where_to_look(ask, project):
    finished = ask(Reply(body=b'{"answer": 1}'), "--debug")
    assert finished.exit_code == 4
    assert "its plugin could not read the reply (HTTP 200): KeyError: 'choices'" in finished.stderr
    assert "the provider's plugin has a bug, and --debug shows where" in finished.stderr
    assert "loopback_provider.py" in finished.stderr
    assert response(project).endswith('{"answer": 1}')


MISTAKES = {
    'Request((Message("user", "hi"),))': "the parts of a Message are Text, ToolCall, ToolResult and Opaque",
    'Request("hi")': "the messages of a Request are of type Message, not 'h'",
    '"hi"': "a model takes a Request((Message('user', (Text('hi'),)),)), not 'hi'",
}


@pytest.mark.parametrize("request_", MISTAKES)
def test_what_is_no_request_names_the_mistake(ask, request_):
    finished = ask(Reply("hi"), request=request_)
    assert finished.exit_code == 70
    assert MISTAKES[request_] in finished.stderr


CALLS = """
from dataclasses import replace
from code_commit.plugin_api import *
from code_commit_testing.scripted_provider import SCRIPTED, ScriptedProvider

def made(config):
    parts = (ToolCall("c1", "write", {arguments}, raw={raw!r}),)
    message = Message("assistant", parts)
    return ScriptedProvider([Completion(message, Finish.TOOL_CALLS, "calls", Usage(1, 1), "caller-1", {{}})])

@hookimpl
def code_commit_providers():
    return [replace(SCRIPTED, name="caller", models={{"caller-1": ()}}, factory="caller_plugin:made")]
"""


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("arguments", "raw"),
    [
        ({"content": [{"deep": KEY}]}, ""),
        ({"content": f"key = {KEY}"}, ""),
        (None, f"no JSON, but {KEY}"),
        ({}, f"only raw {KEY}"),
        ({"content": KEY}, '{"content": "' + KEY.replace("c", r"\u0063") + '"}'),
    ],
)
def test_a_live_key_in_a_tool_call_is_refused(ask, project, tmp_path, arguments, raw):
    install_plugin(tmp_path / "plugins", "caller", CALLS.format(arguments=arguments, raw=raw))
    finished = ask(Reply("unused"), "--model", "caller-1")
    assert finished.exit_code == 5, finished.stderr
    assert (
        "the response of call 1 contains an API key\nhint: remove it from where the model saw it: " in finished.stderr
    )
    assert KEY not in "".join(path.read_text() for path in project.run_folder.iterdir() if path.is_file())


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
    finished = ask(Reply("unused"), "--model", "seer-1", "--json", request=request)
    shown = f"***{KEY[-2:]}"
    assert finished.events[-1]["data"]["summary"][::-1] == f"system {shown} text {shown} file {shown}"


@pytest.mark.parametrize(
    ("finish", "says"),
    [("REFUSED", 'caller-1 refused call 1 (why): "I will not."'), ("FILTERED", "caller-1 filtered call 1 (why)\n")],
)
def test_a_refused_completion_is_told_from_a_filtered_one(ask, project, tmp_path, finish, says):
    code = CALLS.format(arguments={}, raw="").replace(
        'parts = (ToolCall("c1", "write", {}, raw=\'\'),)', 'parts = (Text("I will not."),)'
    )
    install_plugin(tmp_path / "plugins", "caller", code.replace('TOOL_CALLS, "calls"', f'{finish}, "why"'))
    finished = ask(Reply("unused"), "--model", "caller-1")
    assert finished.exit_code == 4
    assert says in finished.stderr
    assert "hint: rephrase the query, or use another model\n" in finished.stderr
    assert response(project) == f"ERROR\n{says.strip()}\nI will not."


@pytest.mark.parametrize(
    ("text", "quoted"), [("", ""), ("x " * 100 + "\n", f': "{"x " * 99}x"'), ("y" * 200, f': "{"y" * 200}"')]
)
def test_a_refusal_is_quoted_on_one_line(text, quoted):
    message = Message("assistant", (Text(text),))
    refused = Completion(message, Finish.REFUSED, "why", Usage(), "caller-1", {})
    assert refusal(refused, 7, Redactor()) == f"caller-1 refused call 7 (why){quoted}"
    assert refusal(replace(refused, finish=Finish.LENGTH), 7, Redactor()) == ""


@pytest.mark.slow
def test_a_long_refusal_is_quoted_by_its_beginning(ask, tmp_path):
    code = CALLS.format(arguments={}, raw="").replace(
        'parts = (ToolCall("c1", "write", {}, raw=\'\'),)', 'parts = (Text("no\\n" * 101),)'
    )
    install_plugin(tmp_path / "plugins", "caller", code.replace('TOOL_CALLS, "calls"', 'REFUSED, "why"'))
    assert f'refused call 1 (why): "{("no " * 67)[:200]}…"\n' in ask(Reply("unused"), "--model", "caller-1").stderr
