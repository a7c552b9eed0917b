"""Send keys through every layer, then search all output and files for parts of them.

The search (`key_traces`) looks for each eight consecutive characters of a key: unchanged, in JSON,
in URLs, in base64 at each alignment and in hex, also in lines and groups. It skips the journal and
the store, which contain the unchanged project and are never shown.
"""

from __future__ import annotations

import base64
import html
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

KEYS = [
    "sk-proj-Canary_0123456789-abcdefghijkLMNOP",
    "k\"e\\y'w%th+aw/kw=rd&<ch>ars${}~;9!zQ",
    "AIza%41%5C+/==--\\\\n\\u0041''\"\"``$(x)#Zt",
]
MODELS = {
    "openai": ("gpt-5", "OPENAI_API_KEY"),
    "anthropic": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY"),
}
GOOD = Reply("^^^a.txt\nnew\n^^^end\n")
SLOW = pytest.mark.slow
# A plain key is in fewer forms than the others.
PLAIN = pytest.param(KEYS[0], id="plain", marks=SLOW)
each_key = pytest.mark.parametrize("key", [PLAIN, *KEYS[1:]], ids=["plain", "awkward", "escapes"])


def disguises(key: str) -> Mapping[str, str]:
    """Return the forms in which programs print a key."""
    return {
        "whole": f"Incorrect API key provided: {key}.",
        "starred": f"Incorrect API key provided: {key[:8]}{'*' * 20}{key[-4:]}. You can find your key at …",
        "cut": f"Invalid key: {key[:-3]}…",
        "json": json.dumps({"sent": key, "again": json.dumps([key])}),
        "url": f"https://service.invalid/v1?key={quote(key, safe='')}&k={quote_plus(key)}",
        "base64": base64.b64encode(f"user:{key}".encode()).decode()
        + base64.urlsafe_b64encode(key.encode()).decode(),
        "base64 in lines": base64.encodebytes(f"user:{key * 3}".encode()).decode(),
        "base64 of UTF-16": base64.b64encode(key.encode("utf-16")).decode(),
        "hex": key.encode().hex() + key.encode().hex().upper(),
        "dump": "\n"
        + "".join(
            f"{start:08x}: {row.hex(' ', -2):<39}  {row.decode()}\n"
            for start in range(0, len(key), 16)
            if (row := key.encode()[start : start + 16])
        ),
        "html": html.escape(key),
        "shell": shlex.quote(key) + repr(key),
    }


def whole_disguises(key: str) -> list[str]:
    """Return the forms that contain the whole key: only errors are searched for parts of one."""
    return [words for how, words in disguises(key).items() if how not in {"starred", "cut"}]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path / "made")


# --- answers of services


# The quick form takes one provider for each status.
ANSWERS = [
    pytest.param(status, provider, marks=() if number % 3 == row % 3 else SLOW)
    for row, status in enumerate((400, 401, 418, 429, 500))
    for number, provider in enumerate(MODELS)
]


@pytest.mark.parametrize(("status", "provider"), ANSWERS)
@pytest.mark.parametrize("key", [PLAIN, KEYS[1]], ids=["plain", "awkward"])
def test_an_error_body_with_the_key_is_redacted(run, key, status, provider) -> None:
    words = " ".join(disguises(key).values())
    with ScriptedServer([Reply.error(status, words)]) as server:
        finished = run(key, "--model", MODELS[provider][0], "--json", "--debug", server=server)
        assert len(server.requests) == 1
    assert finished.exit_code == 4


REFUSED = ("whole", "starred", "cut")  # a message about a key ends the run at once


@each_key
@pytest.mark.parametrize("how", REFUSED)
def test_each_message_about_a_key_is_redacted(run, key, how) -> None:
    with ScriptedServer([Reply.error(429, disguises(key)[how], retry_after="0")] * 2) as server:
        finished = run(
            key, "--model", "gpt-5", server=server, environ={"CODE_COMMIT_HTTP__RETRIES": "1"}
        )
    assert finished.exit_code == 4


@each_key
def test_each_form_of_a_key_in_an_error_body_is_redacted(run, key) -> None:
    """Each is the reason of one more try."""
    replies = [
        Reply.error(429, words, retry_after="0")
        for how, words in disguises(key).items()
        if how not in REFUSED
    ]
    with ScriptedServer(replies) as server:
        retries = {"CODE_COMMIT_HTTP__RETRIES": str(len(replies) - 1)}
        finished = run(key, "--model", "gpt-5", server=server, environ=retries)
        assert len(server.requests) == len(replies), finished.stderr
    assert finished.exit_code == 4
    assert finished.stderr.count("HTTP 429") == len(replies)


TRAPS = {
    "gemini": lambda key: {
        "error": {
            "code": 400,
            "message": "API key not valid. Please pass a valid API key.",
            "status": "INVALID_ARGUMENT",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
                {
                    "@type": "type.googleapis.com/google.rpc.DebugInfo",
                    "detail": f"Invalid API key: {key}",
                },
            ],
        }
    },
    "openai": lambda key: {
        "error": {
            "message": f"Incorrect API key provided: {key[:8]}*******************{key[-4:]}. You can find your API key …",
            "type": "invalid_request_error",
            "code": "invalid_api_key",
        }
    },
}


@each_key
@pytest.mark.parametrize(
    ("provider", "status"),
    [
        ("gemini", 400),
        ("openai", 401),
        *(pytest.param(*position, marks=SLOW) for position in (("gemini", 401), ("openai", 400))),
    ],
)
def test_error_messages_of_real_services_are_redacted(run, key, provider, status) -> None:
    body = json.dumps(TRAPS[provider](key)).encode()
    with ScriptedServer([Reply(status=status, body=body)]) as server:
        finished = run(key, "--model", MODELS[provider][0], server=server)
    assert (finished.exit_code, "check that the key is for" in finished.stderr) == (4, True)


@each_key
def test_a_key_in_other_fields_of_an_answer_is_redacted(run, project, key) -> None:
    answer = {
        "id": f"chatcmpl-{key}",
        "model": f"gpt-5-{key}",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": GOOD.text},
                "finish_reason": "stop",
            }
        ],
        key: whole_disguises(key),
    }
    with ScriptedServer([Reply(body=json.dumps(answer).encode())]) as server:
        finished = run(key, "--model", "gpt-5", "--json", server=server)
    assert finished.exit_code == 0
    assert "***" in (project.run_folder / "1-initial-query-response.json").read_text()


@each_key
def test_a_reply_with_the_key_in_text_or_path_is_refused(run, project, key) -> None:
    replies = [
        Reply(f"^^^a.txt\n{key}\n^^^end\n"),
        Reply(f"^^^src/{key}.txt\nnew\n^^^end\n"),
        Reply(f"^^^src/{base64.urlsafe_b64encode(key.encode()).decode()}.txt\nnew\n^^^end\n"),
        Reply(f"^^^a.txt\n{json.dumps(key)}\n^^^end\n"),
    ]
    for reply in replies:
        with ScriptedServer([reply]) as server:
            finished = run(
                key, "--model", "gpt-5", "--json", "--debug", "--repairs", "0", server=server
            )
        assert finished.exit_code == 5
        assert project.read("a.txt") == "old\n"


@each_key
def test_a_key_in_the_finish_reason_is_redacted(run, key) -> None:
    open_block = GOOD.text.replace("^^^end", "")  # so that the error quotes the finish reason
    with ScriptedServer([Reply(open_block, finish=key)]) as server:
        finished = run(
            key, "--model", "gpt-5", "--json", "--debug", "--repairs", "0", server=server
        )
    assert finished.exit_code == 5
    assert "it ended with `***" in finished.stderr


@each_key
def test_a_key_in_a_redirect_or_header_is_redacted(run, key) -> None:
    to = {
        "location": f"https://other.invalid/{quote(key, safe='')}?key={quote(key, safe='')}",
        "x-key": quote(key),
    }
    with ScriptedServer([Reply(status=307, headers=to, body=b"")]) as server:
        assert run(key, "--model", "gpt-5", "--json", server=server).exit_code == 4


def test_a_key_as_the_host_of_a_redirect_is_redacted(run) -> None:
    host = "CANARY-KEY-ABCDEFGHIJKLMNOP"  # httpx puts hosts into small letters
    with ScriptedServer(
        [Reply(status=307, headers={"location": f"https://{host}.invalid/"}, body=b"")]
    ) as server:
        finished = run(host, "--model", "gpt-5", "--json", server=server)
    assert finished.exit_code == 4
    assert host.lower()[:8] not in finished.stdout + finished.stderr


@pytest.mark.parametrize(
    "before", [190, 290, *(pytest.param(position, marks=SLOW) for position in (180, 490))]
)
def test_a_key_that_a_message_would_cut_off_is_redacted(run, before) -> None:
    words = "x" * before + KEYS[0]
    refusal = Reply(words, finish="refusal")
    error = Reply(
        body=json.dumps(
            {"type": "error", "error": {"type": "overloaded", "message": words}}
        ).encode()
    )
    for reply in (refusal, error, Reply.error(400, words)):
        with ScriptedServer([reply]) as server:
            finished = run(
                KEYS[0], "--model", "claude-sonnet-4-5", "--json", "--debug", server=server
            )
        assert finished.exit_code in {4, 5}


@pytest.mark.parametrize(
    ("used", "other"),
    [
        ("sk-proj-Canary-one-0123456789", "sk-proj-Canary-two-9876543210"),  # a common prefix
        # One in the other.
        ("sk-proj-Canary-one-0123456789", "sk-proj-Canary-one-0123456789-longer"),
        # One ends as the other begins.
        ("Canary-one-0123456789-longer", "sk-proj-Canary-one-0123456789"),
    ],
)
def test_no_key_hides_a_part_of_another(run, project, key_traces, used, other) -> None:
    project.write({"agent-config/openai-key.txt": used, "agent-config/openai-other-key.txt": other})
    files = ("agent-config/openai-key.txt", "agent-config/openai-other-key.txt")
    with ScriptedServer(
        [Reply.error(400, f"{other} {used} {other}{used} {disguises(other)['base64']}")]
    ) as server:
        finished = run(other, "--model", "gpt-5", "--json", server=server, kept=files)
    assert finished.exit_code == 4
    assert key_traces(project, finished, used, kept=files) == {}


# --- the project


@each_key
def test_a_key_in_the_query_and_the_rollup_is_redacted(run, project, key) -> None:
    query, rollup = "agent-config/query.txt", "agent-config/codeRollup.txt"
    hidden = "\n".join(disguises(key)[how] for how in ("whole", "json", "hex"))
    project.write({query: f"use {key}\n", rollup: f"--- a.txt ---\nold\n{hidden}"})
    with ScriptedServer([GOOD]) as server:
        finished = run(key, "--model", "gpt-5", "--json", server=server, kept=(query, rollup))
        assert key.encode() not in server.requests[0].body
    assert finished.exit_code == 0


@each_key
def test_a_key_on_the_command_line_is_redacted(run, key) -> None:
    with ScriptedServer([GOOD]) as server:
        assert (
            run(key, "--model", "gpt-5", "--json", "--query", f"use {key}", server=server).exit_code
            == 0
        )
    assert run(key, "--model", f"{key}x", "--json").exit_code == 2
    assert run(key, key, "--json").exit_code == 2
    assert run(key, "check", key, "--json").exit_code in {0, 1}
    assert run(key, "check", f"src/{key}", quote(key)).exit_code in {0, 1}
    if "=" not in key:  # the end of a flag's name
        assert run(key, f"--{key}", "--json").exit_code == 2
    assert run(key, "--model", "gpt-5", "--query-file", f"/absent/{key}").exit_code == 3


# Writes the secret byte by byte to both streams.
_DRIP = """
import os, sys
for stream in (1, 2):
    for byte in open("secret.bin", "rb").read():
        os.write(stream, bytes([byte]))
sys.exit(1)
"""


@each_key
def test_a_build_that_prints_the_key_byte_by_byte_is_redacted(run, project, key) -> None:
    content = "\n".join([*whole_disguises(key), key * 3, f"\x1b[31m{key}\x1b[0m", key])
    project.write({"secret.bin": content, "drip.py": _DRIP, "build.sh": "python3 drip.py\n"})
    project.git("add", "-A")
    project.git("commit", "-qm", "a build that talks")
    with ScriptedServer([GOOD, Reply("^^^a.txt\nnewer\n^^^end\n")]) as server:
        finished = run(
            key, "--model", "gpt-5", "--json", "--repairs", "1", server=server, kept=("secret.bin",)
        )
        prompt = server.requests[1].prompt
    assert finished.exit_code == 1
    assert "***" in prompt
    assert key not in prompt


@each_key
def test_keys_from_each_source_are_redacted(run, project, tmp_path, key) -> None:
    project.write(
        {
            "agent-config/openai-key.txt": f"{key}\n",
            "agent-config/unknown-key.txt": f"{key}\n",
            "agent-config/config.toml": f"[providers.openai.named]\nmodel = 'm'\napi_key = {json.dumps(key)}\n",
        }
    )
    files = tuple(
        f"agent-config/{name}" for name in ("openai-key.txt", "unknown-key.txt", "config.toml")
    )
    none = {variable: "" for _, variable in MODELS.values()}
    with ScriptedServer([Reply.error(418, disguises(key)["whole"])]) as server:
        assert run(key, "--model", "gpt-5", server=server, kept=files, environ=none).exit_code == 4
    assert run(key, "config", kept=files, environ=none).exit_code == 0
    assert run(key, "config", "--json", kept=files, environ=none).exit_code == 0
