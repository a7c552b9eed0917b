"""The scripted server and provider, used as in a third party's tests."""

from __future__ import annotations

import http.client
import json
import threading
import time

import pytest

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Message,
    Opaque,
    ProviderError,
    Text,
    ToolCall,
    Usage,
)
from code_commit_testing import (
    Reply,
    ScriptedProvider,
    ScriptedServer,
    loopback_provider,
    model_call,
)
from code_commit_testing import scripted_provider as plugin
from code_commit_testing.scripted_replies import answer_of

PATHS = {
    "gemini": "/v1beta/models/gemini-x:generateContent",
    "openai": "/chat/completions",
    "anthropic": "/v1/messages",
}
ASKED = {
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "how "}, {"text": "so?"}]}]},
    "openai": {"model": "gpt-x", "messages": [{"role": "user", "content": "how so?"}]},
    "anthropic": {
        "model": "claude-x",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "how so?"}]}],
    },
}


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


def post(
    server: ScriptedServer, provider: str = "openai", path: str | None = None
) -> tuple[int, bytes]:
    prefix = server.url(provider).removeprefix(server.address)
    connection = http.client.HTTPConnection(server.address.removeprefix("http://"))
    try:
        body = json.dumps(ASKED.get(provider, {}))
        connection.request("POST", path or prefix + PATHS[provider], body, {"X-Test": "yes"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.mark.parametrize("provider", ["gemini", "openai", "anthropic"])
def test_one_script_answers_in_each_protocol(server, provider):
    server.script("therefore")
    status, body = post(server, provider)
    assert status == 200
    answer = json.loads(body)
    text = {
        "gemini": lambda: answer["candidates"][0]["content"]["parts"][0]["text"],
        "openai": lambda: answer["choices"][0]["message"]["content"],
        "anthropic": lambda: answer["content"][0]["text"],
    }[provider]()
    assert text == "therefore"
    (request,) = server.requests
    assert request.protocol == provider
    assert request.prompt == "how so?"
    assert request.model in {"gemini-x", "gpt-x", "claude-x"}
    assert request.model in body.decode()
    assert request.headers["x-test"] == "yes"


def test_a_script_is_used_in_order_and_ends(server):
    server.script("one", lambda request: f"two, after {request.prompt}")
    assert b"one" in post(server)[1]
    assert server.unused == 1
    assert b"two, after how so?" in post(server)[1]
    status, body = post(server)
    assert status == 400
    assert b"used up" in body


@pytest.mark.parametrize("provider", ["gemini", "openai", "anthropic"])
def test_an_error_has_the_format_of_the_protocol(server, provider):
    server.script(Reply.error(429, "slow down", retry_after="3"))
    status, body = post(server, provider)
    assert status == 429
    assert json.loads(body)["error"]["message"] == "slow down"


@pytest.mark.parametrize(
    ("provider", "member", "names"),
    [
        (
            "anthropic",
            "type",
            {400: "invalid_request_error", 401: "authentication_error", 529: "overloaded_error"},
        ),
        ("gemini", "status", {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 503: "UNAVAILABLE"}),
    ],
)
def test_an_error_has_its_name_of_the_service(server, provider, member, names):
    server.script(*(Reply.error(status) for status in names))
    assert [json.loads(post(server, provider)[1])["error"][member] for _ in names] == [
        *names.values()
    ]


def test_a_call_echoes_only_what_is_of_its_service():
    calls = [
        ToolCall("", "f", {}, echo=Opaque(name, {"thoughtSignature": name}))
        for name in ("gemini", "openai")
    ]
    body = json.loads(answer_of("gemini", Reply(tool_calls=calls))[1])
    signed = [part.get("thoughtSignature") for part in body["candidates"][0]["content"]["parts"]]
    assert signed == ["gemini", None]


def test_bytes_are_sent_for_any_path(server):
    server.script(
        Reply.html(), Reply(text="no protocol here"), Reply.redirect("http://elsewhere.invalid")
    )
    assert post(server, path="/anything")[1].startswith(b"<!DOCTYPE html>")
    assert post(server, path="/anything")[0] == 404
    assert post(server, path="/anything")[0] == 307
    assert [request.protocol for request in server.requests] == [None, None, None]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("drop", http.client.RemoteDisconnected),
        ("reset", ConnectionResetError),
        ("half", http.client.IncompleteRead),
    ],
)
def test_a_fault_breaks_the_connection(server, fault, error):
    server.script(Reply(text="some words", fault=fault))
    with pytest.raises(error):
        post(server)


@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_endless_replies_end_with_the_server(fault):
    with ScriptedServer() as server:

        def answer(_request) -> Reply:
            threading.Thread(target=server.close).start()
            return Reply(text="some words", fault=fault)

        server.script(answer)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            post(server)


def test_a_trickle_arrives_slowly_and_completely(server):
    server.script(Reply(body=b"1234", fault="trickle"))
    began = time.monotonic()
    assert post(server) == (200, b"1234")
    assert time.monotonic() - began >= 0.15  # three pauses between four bytes


def test_an_unsupported_finish_is_an_error():
    with pytest.raises(ValueError, match="gemini has no word for refused"):
        answer_of("gemini", Reply(finish=Finish.REFUSED))


def test_the_environment_points_all_providers_to_the_server(server):
    assert server.environment() == {
        "GOOGLE_GEMINI_BASE_URL": server.address,
        "OPENAI_BASE_URL": server.address + "/v1",
        "ANTHROPIC_BASE_URL": server.address,
    }


# --- without HTTP


def ask(provider: ScriptedProvider, text: str = "a question") -> Completion:
    return provider.complete(model_call(text))


def test_a_scripted_provider_answers_from_its_list():
    whole = Completion(Message("assistant", ()), Finish.LENGTH, "cut", Usage(), "m", {})
    call = ToolCall("c1", "read_file", {"path": "a"})
    provider = ScriptedProvider(
        ["hello", call, whole, ProviderError("no", kind="auth"), lambda _request: "last"]
    )
    assert ask(provider).text == "hello"
    assert ask(provider).finish is Finish.TOOL_CALLS
    assert ask(provider) is whole
    with pytest.raises(ProviderError, match="no"):
        ask(provider)
    assert ask(provider, "the last question").text == "last"
    with pytest.raises(ProviderError, match="used up"):
        ask(provider)
    assert provider.requests[-2].messages[0].parts == (Text("the last question"),)


def test_a_scripted_provider_streams_its_text():
    deltas: list[Delta] = []
    call = model_call("a question", stream=True, progress=deltas.append)
    assert ScriptedProvider([" two words\n"]).complete(call).text == " two words\n"
    assert [delta.text for delta in deltas] == [" two ", "words\n"]


def test_the_module_of_the_scripted_provider_is_a_plugin():
    (definition,) = plugin.code_commit_providers()
    config = plugin.ScriptedConfig.model_validate({"model": "scripted", "replies": ["hello"]})
    assert definition.name == "scripted"
    assert ask(plugin.provider_of(config)).text == "hello"
    with pytest.raises(ValueError, match="answers"):
        plugin.ScriptedConfig.model_validate({"answers": []})


def test_an_unknown_name_of_the_package_is_an_error():
    import code_commit_testing

    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = code_commit_testing.NoSuchThing


@pytest.mark.parametrize("module", [plugin, loopback_provider])
def test_a_plugin_with_a_late_config_has_no_other_names(module):
    with pytest.raises(
        AttributeError, match=f"module '{module.__name__}' has no attribute 'Config'"
    ):
        _ = module.Config


def test_the_loopback_provider_reports_an_error_of_the_service():
    with pytest.raises(ProviderError, match="slow down") as caught:
        loopback_provider.LoopbackWire("m").decode(429, {}, b'{"error": {"message": "slow down"}}')
    assert caught.value.kind == "rate"
