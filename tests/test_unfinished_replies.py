"""Replies that the service cut, failed inside of, or filled with thinking, streamed and whole,
through the command.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, Stream
from code_commit_testing.command import Finished

MODELS = {"openai": "gpt-5", "gemini": "gemini-2.5-pro", "anthropic": "claude-sonnet-4-5"}
KEY = "sk-canary-0123456789-key7Q"
FILES = {"a.py": "old\n", "b.py": "kept\n"}
GOOD = "^^^a.py\nnew\n^^^end\n"
AT_ONCE = {"retry-after-ms": "1"}
SSE = {"content-type": "text/event-stream", **AT_ONCE}


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path / "made", files=FILES)


@pytest.fixture(params=["always", "never"])
def stream(request):
    return request.param


def run(
    project: Project,
    *replies: Reply,
    stream: str = "never",
    protocol: str = "openai",
    **environ: str,
) -> tuple[Finished, list[Any]]:
    """Run a commit with scripted replies, and return the requests too."""
    keys = {f"{name.upper()}_API_KEY": KEY for name in MODELS}
    with ScriptedServer(replies) as server:
        environ = {
            **keys,
            "CODE_COMMIT_STREAM": stream,
            "CODE_COMMIT_SANDBOX": "off",
            **server.environment(),
            **environ,
        }
        return project.command(
            "--json", "--model", MODELS[protocol], environ=environ
        ), server.requests


def files(project: Project) -> dict[str, str]:
    return {path: project.read(path) for path in FILES if (project.root / path).exists()}


# --- finish words


@pytest.mark.parametrize(
    ("protocol", "word"),
    [
        ("openai", "insufficient_system_resource"),
        ("openai", "max_tokens"),
        ("openai", "abort"),
        ("openai", "brand_new"),
        ("gemini", "OTHER"),
        ("gemini", "MALFORMED_RESPONSE"),
        ("anthropic", "compaction"),
    ],
)
def test_a_reply_that_the_service_calls_cut_is_repaired(project, stream, protocol, word):
    cut = Reply("^^^b.py\nhalf of the change\n^^^end\n", finish=word)
    finished, requests = run(project, cut, Reply(GOOD), stream=stream, protocol=protocol)
    assert (finished.exit_code, files(project)) == (0, {"a.py": "new\n", "b.py": "kept\n"}), (
        finished.stderr
    )
    assert f"the response is incomplete: it ended with `{word}`" in requests[1].prompt


@pytest.mark.parametrize(
    ("protocol", "word"), [("openai", "sensitive"), ("openai", "output_filter"), ("gemini", "SPII")]
)
def test_a_filtered_reply_ends_the_run(project, stream, protocol, word):
    finished, requests = run(project, Reply(GOOD, finish=word), stream=stream, protocol=protocol)
    assert (finished.exit_code, len(requests), files(project)) == (4, 1, FILES)
    assert f"filtered call 1 ({word})" in finished.stderr


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_reply_without_a_finish_reason_is_whole(project, stream, protocol):
    finished, requests = run(project, Reply(GOOD, finish=""), stream=stream, protocol=protocol)
    assert (finished.exit_code, len(requests), project.read("a.py")) == (0, 1, "new\n"), (
        finished.stderr
    )
    (call,) = (event["data"] for event in finished.events if event["kind"] == "call.finished")
    assert (call["finish"], call["finish_detail"]) == ("stop", "")


# --- errors inside a reply


def error_replies(error: dict[str, Any], stream: str) -> Reply:
    """Return an error in a reply of status 200; in a stream, it comes after a part of the text."""
    if stream == "never":
        return Reply(body=json.dumps({"error": error}).encode(), headers=AT_ONCE)
    part = {"choices": [{"index": 0, "delta": {"content": "^^^a.py\n"}, "finish_reason": None}]}
    lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in (part, {"error": error})]
    return Reply(body=b"".join(lines), headers=SSE)


@pytest.mark.parametrize(
    "error",
    [
        {
            "type": "service_unavailable_error",
            "code": "server_is_overloaded",
            "message": "busy now",
        },
        {"code": "1305", "message": "busy now"},
        {"type": "engine_overloaded_error", "message": "busy now"},
        {"code": "429", "message": "busy now"},
        {"type": "api_error", "message": "busy now"},
        {"message": "busy now"},
    ],
    ids=str,
)
def test_an_error_inside_a_reply_is_retried(project, stream, error):
    finished, requests = run(project, error_replies(error, stream), Reply(GOOD), stream=stream)
    assert (finished.exit_code, len(requests), project.read("a.py")) == (0, 2, "new\n"), (
        finished.stderr
    )
    (retried,) = (event["data"] for event in finished.events if event["kind"] == "call.retried")
    assert "busy now" in retried["reason"]


@pytest.mark.parametrize(
    "error",
    [
        {"type": "invalid_request_error", "message": "not like this"},
        {"code": "model_not_found", "message": "not like this"},
        {"type": "insufficient_quota", "message": "not like this"},
        {"code": "context_length_exceeded", "message": "not like this"},
    ],
    ids=str,
)
def test_a_permanent_error_inside_a_reply_is_not_retried(project, stream, error):
    finished, requests = run(project, error_replies(error, stream), stream=stream)
    assert (finished.exit_code, len(requests)) == (4, 1)
    assert "not like this" in finished.stderr


PART = b'data: {"choices": [{"index": 0, "delta": {"content": "^^^a.py\\n"}}]}\n\n'
GOOGLE = json.dumps(
    {"error": {"code": 503, "message": "busy now", "status": "UNAVAILABLE"}}, indent=2
).encode()


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        (b'data: {"choices": [{"index": 0, "delta": {"con\n\n', "inside an event"),
        (b'data: {"choices": [{"index": 0, "delta": {"con', "no finish_reason"),
        (b'error: {"code": 500, "message": "busy now", "type": "server_error"}\n\n', "busy now"),
        (GOOGLE + b"\n", "busy now"),
    ],
)
def test_a_broken_stream_is_retried(project, rest, says):
    finished, requests = run(
        project, Reply(body=PART + rest, headers=SSE), Reply(GOOD), stream="always"
    )
    assert (finished.exit_code, len(requests), project.read("a.py")) == (0, 2, "new\n"), (
        finished.stderr
    )
    (retried,) = (event["data"] for event in finished.events if event["kind"] == "call.retried")
    assert says in retried["reason"]


@pytest.mark.parametrize(
    ("status", "header", "tries"), [(400, "true", 2), (500, "false", 1), (401, "true", 1)]
)
def test_a_service_says_whether_to_retry(project, status, header, tries):
    failed = Reply.error(status, "odd", retry_after_ms="1", x_should_retry=header)
    finished, requests = run(project, failed, Reply(GOOD))
    assert (len(requests), finished.exit_code) == (tries, 0 if tries > 1 else 4)


@pytest.mark.parametrize("protocol", MODELS)
def test_an_error_without_words_is_not_called_none(project, protocol):
    finished, _ = run(project, Reply(status=401, body=b'{"error": {}}'), protocol=protocol)
    assert finished.exit_code == 4
    assert "the service rejected the key (HTTP 401)" in finished.stderr
    assert "None" not in finished.stderr


# --- thinking that leaked into the text

DRAFT = "^^^b.py\n^^^delete\nno, keep it\n"
THINKING = {
    "tags": f"<think>\n{DRAFT}</think>\n{GOOD}",
    "the end alone": f"{DRAFT}</think>\n\n{GOOD}",
    "channels": f"<|channel|>analysis<|message|>\n{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{GOOD}",
}


@pytest.mark.parametrize("piece", [1, 1000])
@pytest.mark.parametrize("text", THINKING.values(), ids=THINKING)
def test_leaked_thinking_is_not_applied(project, stream, text, piece):
    finished, requests = run(project, Reply(text, stream=Stream(piece=piece)), stream=stream)
    assert (finished.exit_code, files(project)) == (0, {"a.py": "new\n", "b.py": "kept\n"}), (
        finished.stderr
    )
    assert len(requests) == 1
    assert (project.run_folder / "1-initial-query-response.txt").read_text() == text
    assert (
        "keep it" in (project.run_folder / "1-initial-query-response.json").read_text()
        or piece < 1000
    )
    assert (
        project.command("replay", "latest", environ={"CODE_COMMIT_SANDBOX": "off"}).exit_code == 0
    )


@pytest.mark.parametrize("protocol", ["gemini", "anthropic"])
def test_leaked_thinking_of_each_protocol(project, stream, protocol):
    finished, _ = run(project, Reply(THINKING["tags"]), stream=stream, protocol=protocol)
    assert (finished.exit_code, files(project)) == (0, {"a.py": "new\n", "b.py": "kept\n"}), (
        finished.stderr
    )


def test_a_wrong_draft_does_not_stop_the_reply(project):
    text = f"<think>\n^^^a.py\n^^^b.py\n</think>\n{GOOD}"
    finished, _ = run(project, Reply(text), stream="always", CODE_COMMIT_STOP_EARLY="true")
    assert (finished.exit_code, project.read("a.py")) == (0, "new\n"), finished.stderr


def test_progress_does_not_name_the_files_of_drafts(project):
    text = f"<think>\n{DRAFT}{'and so on, ' * 50_000}\n</think>\n{GOOD}"
    finished, _ = run(
        project, Reply(text, stream=Stream(piece=1000, seconds=0.001)), stream="always"
    )
    progress = [event["data"] for event in finished.events if event["kind"] == "call.progress"]
    assert progress
    assert progress[0]["thinking"] is True
    assert "b.py" not in {event_of_call["file"] for event_of_call in progress}


def test_thinking_without_an_end_is_a_cut_reply(project, stream):
    finished, requests = run(project, Reply(f"<think>\n{DRAFT}"), Reply(GOOD), stream=stream)
    assert (finished.exit_code, files(project)) == (0, {"a.py": "new\n", "b.py": "kept\n"}), (
        finished.stderr
    )
    assert (
        "the response is incomplete: it ended with `thinking without an end`" in requests[1].prompt
    )


UNCLEAR = {
    "code without an end": f"First idea:\n```\nfoo\n{DRAFT}</think>\n{GOOD}",
    "an end in a sentence": f"^^^b.py\nhalf\n^^^end\nIt ends with </think>\n{GOOD}",
    "a channel without its end": f"analysisI delete it.\n{DRAFT}",
}


@pytest.mark.parametrize("text", UNCLEAR.values(), ids=UNCLEAR)
def test_a_reply_that_may_hold_drafts_is_sent_back(project, stream, text):
    finished, requests = run(project, Reply(text), Reply(GOOD), stream=stream)
    assert (finished.exit_code, files(project)) == (0, {"a.py": "new\n", "b.py": "kept\n"}), (
        finished.stderr
    )
    assert "it ended with `thinking that cannot be told from the answer`" in requests[1].prompt


def test_words_about_thinking_do_not_drop_a_file(project, stream):
    text = f"{GOOD}It strips <think>...</think> blocks.\n^^^b.py\nnewer\n^^^end\n"
    finished, requests = run(project, Reply(text), stream=stream)
    assert (finished.exit_code, files(project)) == (0, {"a.py": "new\n", "b.py": "newer\n"}), (
        finished.stderr
    )
    assert len(requests) == 1


def test_a_key_in_thinking_is_refused(project, stream):
    finished, _ = run(project, Reply(f"<think>{KEY}</think>\n{GOOD}"), stream=stream)
    assert (finished.exit_code, files(project)) == (5, FILES)
    assert "contains an API key" in finished.stderr


def test_a_file_about_thinking_is_written_as_it_is(project, stream):
    content = "<think>\nx\n</think>\nend = '</think>'\n<|channel|>analysis<|message|>\n"
    finished, _ = run(project, Reply(f"I write it.\n^^^a.py\n{content}^^^end\n"), stream=stream)
    assert (finished.exit_code, project.read("a.py")) == (0, content), finished.stderr
