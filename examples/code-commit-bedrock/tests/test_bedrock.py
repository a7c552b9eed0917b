"""Bedrock in the conformance tests, against a server that checks each signature."""

from __future__ import annotations

import json
import sys
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from code_commit.plugin_api import Finish, ProviderError
from code_commit_testing import Reply, ScriptedServer, model_call
from code_commit_testing.conformance import CompleteConformance
from signature import is_signed

from code_commit_bedrock.config import BedrockConfig
from code_commit_bedrock.plugin import BEDROCK
from code_commit_bedrock.provider import BedrockProvider

SECRET = "made-up/secret+of+a+test"
TOKEN = "made-up//session==token"
REASONS = {
    Finish.STOP: "end_turn",
    Finish.TOOL_CALLS: "tool_use",
    Finish.LENGTH: "max_tokens",
    Finish.FILTERED: "content_filtered",
    Finish.CUT: "a new reason",
}


def reason_of(reply: Reply) -> str:
    if isinstance(reply.finish, str):
        return reply.finish
    finish = reply.finish or (Finish.TOOL_CALLS if reply.tool_calls else Finish.STOP)
    return REASONS[finish]


def usage_of(reply: Reply) -> dict:
    if reply.usage is None:
        return {}
    return {"usage": {"inputTokens": reply.usage.input, "outputTokens": reply.usage.output}}


def body_of(reply: Reply) -> bytes:
    """Return a reply as a whole."""
    if reply.status >= 400:
        return json.dumps({"message": reply.text}).encode()
    calls = [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}}
        for call in reply.tool_calls
    ]
    message = {"role": "assistant", "content": [{"text": reply.text}, *calls]}
    return json.dumps(
        {"output": {"message": message}, "stopReason": reason_of(reply), **usage_of(reply)}
    ).encode()


def event(name: str, kind: str = "event", **members: object) -> bytes:
    """Return an event as the service frames it: lengths, headers, JSON, checksums."""
    pairs = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + len(value).to_bytes(2, "big") + value.encode()
        for key, value in pairs.items()
    )
    payload = json.dumps(members).encode()
    start = (len(headers) + len(payload) + 16).to_bytes(4, "big") + len(headers).to_bytes(4, "big")
    frame = start + zlib.crc32(start).to_bytes(4, "big") + headers + payload
    return frame + zlib.crc32(frame).to_bytes(4, "big")


def is_from(request, secrets) -> bool:
    return is_signed(request.path, request.headers, request.body, secrets, "bedrock")


class TestBedrock(CompleteConformance):
    definition = BEDROCK
    environ = {
        "AWS_ACCESS_KEY_ID": "AKIDTEST",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_SESSION_TOKEN": TOKEN,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    secrets = (SECRET, TOKEN)
    unspoken = (Finish.PAUSED, Finish.REFUSED)
    stream_headers = {"content-type": "application/vnd.amazon.eventstream"}

    def settings_for(self, address):
        return {"model": "some.model-v1:0", "region": "eu-central-1", "endpoint": address}

    def answer(self, reply):
        return reply.status, reply.headers, body_of(reply)

    def asks_to_stream(self, request):
        return request.path.endswith("/converse-stream")

    def respond(self, request, reply):
        if (
            is_from(request, {"AKIDTEST": SECRET})
            and request.headers["x-amz-security-token"] == TOKEN
        ):
            return super().respond(request, reply)
        return Reply(status=403, body=b'{"message": "The request signature does not match."}')

    def stream_events(self, reply, piece):
        yield event("messageStart", role="assistant")
        for start in range(0, len(reply.text), piece):
            text = reply.text[start : start + piece]
            yield event("contentBlockDelta", contentBlockIndex=0, delta={"text": text})
        yield event("contentBlockStop", contentBlockIndex=0)
        for index, call in enumerate(reply.tool_calls, 1):
            start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
            yield event("contentBlockStart", contentBlockIndex=index, start=start)
            written = json.dumps(call.arguments)
            for at in range(0, len(written), piece):
                delta = {"toolUse": {"input": written[at : at + piece]}}
                yield event("contentBlockDelta", contentBlockIndex=index, delta=delta)
            yield event("contentBlockStop", contentBlockIndex=index)
        yield event("messageStop", stopReason=reason_of(reply))
        yield event("metadata", **usage_of(reply))

    def stream_error(self, reply):
        return event("internalServerException", "exception", message=reply.text)


COMMAND = """
import json, pathlib, sys
counter = pathlib.Path(sys.argv[1])
number = int(counter.read_text()) + 1
counter.write_text(str(number))
print(json.dumps({
    "Version": 1,
    "AccessKeyId": f"AKID{number}",
    "SecretAccessKey": f"secret {number}",
    "SessionToken": f"session token {number}",
    "Expiration": sys.argv[2],
}))
"""


def provider_with_a_command(server, folder, monkeypatch, *, minutes) -> BedrockProvider:
    """Return a provider whose credentials come from a command, and expire in `minutes`."""
    expiry = (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()
    (folder / "counter").write_text("0")
    (folder / "command.py").write_text(COMMAND)
    command = f"{sys.executable} {folder / 'command.py'} {folder / 'counter'} {expiry}"
    (folder / "config").write_text(
        f"[profile a-test]\ncredential_process = {command}\nregion = eu-west-1\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))
    return BedrockProvider(BedrockConfig(model="m", profile="a-test", endpoint=server.address))


def checked(request) -> Reply:
    number = request.headers["x-amz-security-token"].removeprefix("session token ")
    assert is_from(request, {f"AKID{number}": f"secret {number}"})
    return Reply(body=body_of(Reply(f"signed with {number}")))


def test_a_wrong_signature_is_refused(monkeypatch):
    for name, value in (TestBedrock.environ | {"AWS_SECRET_ACCESS_KEY": "another"}).items():
        monkeypatch.setenv(name, value)
    suite = TestBedrock()
    with ScriptedServer([lambda request: suite.respond(request, Reply("hello"))]) as server:
        provider = BedrockProvider(BedrockConfig(**suite.settings_for(server.address)))
        with pytest.raises(ProviderError) as caught:
            provider.complete(model_call("hi"))
    assert caught.value.kind == "auth"


def test_credentials_are_refreshed_before_they_expire(tmp_path, monkeypatch):
    with ScriptedServer([checked, checked]) as server:
        provider = provider_with_a_command(server, tmp_path, monkeypatch, minutes=1)
        texts = [provider.complete(model_call("hi")).text for _ in range(2)]
    assert texts[0] != texts[1]


def test_credentials_of_a_command_are_hidden(tmp_path, monkeypatch):
    hidden = []
    with ScriptedServer([checked]) as server:
        provider = provider_with_a_command(server, tmp_path, monkeypatch, minutes=600)
        provider.complete(model_call("hi", hide=hidden.append))
    assert hidden == ["secret 1", "session token 1"]


def test_credentials_that_the_service_calls_expired_are_replaced(tmp_path, monkeypatch):
    expired = Reply(
        status=403,
        headers={"x-amzn-errortype": "ExpiredTokenException"},
        body=b'{"message": "expired"}',
    )
    with ScriptedServer([checked, expired, checked]) as server:
        provider = provider_with_a_command(server, tmp_path, monkeypatch, minutes=600)
        texts = [provider.complete(model_call("hi")).text for _ in range(2)]
    assert texts == ["signed with 1", "signed with 2"]
