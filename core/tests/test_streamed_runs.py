"""Streamed replies through the command: which runs stream, and how their faults end."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest

from code_commit_testing import Reply, Stream, install_plugin

KEY = "sk-canary-0123456789"
ALWAYS = {"CODE_COMMIT_STREAM": "always"}


@pytest.fixture
def ask(project, asking, server):
    def ask(*arguments, model="gpt-5", config="", **environ):
        if config:
            project.write(
                {"agent-config/config.toml": config.replace("ADDRESS", server.url("openai"))}
            )
        environ = {**server.environment(), "OPENAI_API_KEY": KEY, **environ}
        return project.command(
            "--ask", "--model", model, *arguments, plugins=[asking], environ=environ
        )

    return ask


def streams(server) -> list[bool]:
    return ["stream" in request.json for request in server.requests]


def answers(finished) -> list[str]:
    return finished.events[-1]["data"]["data"]["answers"]


# --- which runs stream


def named(stream: str) -> str:
    config = f'[providers.openai.mine]\nmodel = "gpt-5"\nbase_url = "ADDRESS"\napi_key = "{KEY}"\n'
    return config + (f'stream = "{stream}"\n' if stream else "")


EACH = """
import json, os
from code_commit.plugin_api import CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("each", "start runs", "each_plugin:each", "each_plugin:arguments")]

def arguments(parser):
    parser.add_argument("cases")

def each(host, arguments):
    for config, environ in json.loads(arguments.cases):
        (host.root / "agent-config/config.toml").write_text(config)
        os.environ.update(environ)
        assert host.start(host.parse(["--ask", "--model", "openai.mine"])).exit_code == 0
        for name in environ:
            del os.environ[name]
    return 0
"""


def test_the_setting_and_the_named_config_decide(project, asking, server):
    cases = [
        (named(""), {}, False),  # nobody watches
        ('stream = "always"\n' + named(""), {}, True),
        (named(""), ALWAYS, True),
        (named("never"), ALWAYS, False),
        (named("always"), {}, True),
        (named("always"), {"CODE_COMMIT_PROVIDERS__OPENAI__MINE__STREAM": "never"}, False),
    ]
    install_plugin(asking, "each", EACH)
    project.write({"agent-config/config.toml": ""})
    server.script(*["yes"] * 2 * len(cases))
    runs = [
        (config.replace("ADDRESS", server.url("openai")), environ) for config, environ, _ in cases
    ]
    finished = project.command("each", json.dumps(runs), plugins=[asking])
    assert finished.exit_code == 0, finished.stderr
    assert streams(server) == [streamed for *_, streamed in cases for _ in range(2)]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("arguments", "streamed"),
    [([], True), (["--quiet"], False), (["--json"], False)],
    ids=["watched", "quiet", "json"],
)
def test_replies_are_streamed_where_a_person_watches(project, asking, server, arguments, streamed):
    server.script("one", "two")
    controller, theirs = pty.openpty()
    environ = {
        **server.environment(),
        "OPENAI_API_KEY": KEY,
        "TERM": "xterm",
        "PYTHONPATH": str(asking),
    }
    command = ["--ask", "--model", "gpt-5", *arguments]
    with project.start(
        *command, environ=environ, stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        try:
            while os.read(controller, 4096):
                pass
        except OSError:  # its end, on Linux
            pass
    os.close(controller)
    assert (process.returncode, streams(server)) == (0, [streamed] * 2)


def test_a_wrong_value_is_named(ask):
    finished = ask(model="openai.mine", config=named("sometimes"))
    assert finished.exit_code == 3
    assert (
        "[providers.openai.mine]: stream should be 'auto', 'always' or 'never'" in finished.stderr
    )
    finished = ask(CODE_COMMIT_STREAM="on", config="model = 'gpt-5'\n")
    assert (
        finished.exit_code,
        "CODE_COMMIT_STREAM: stream should be 'auto'" in finished.stderr,
    ) == (3, True)


@pytest.mark.slow
def test_the_command_config_shows_the_settings(project):
    finished = project.command("config", "--json", environ=ALWAYS)
    rows = {row["name"]: (row["value"], row["origin"]) for row in finished.document["settings"]}
    assert rows["stream"] == ("always", "variable CODE_COMMIT_STREAM")
    assert rows["http.stall_seconds"] == (300, "default")


# --- faults

TEXT = "a text of some length"


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    "broken",
    [
        Stream(after_bytes=150, gzip=True),
        Stream(after=3),
        Stream(after=3, then="reset"),
        Stream(after=3, then="end"),
        Stream(after_bytes=150),
        Stream(after=3, then=Reply.error(503, "overloaded")),
    ],
    ids=["gzip cut", "dropped", "reset", "no end", "cut", "an error"],
)
def test_a_stream_that_breaks_off_is_tried_again_from_its_start(ask, server, broken):
    server.script(Reply(TEXT, stream=broken), Reply(TEXT), Reply("two"))
    finished = ask("--json", **ALWAYS)
    assert (finished.exit_code, answers(finished)) == (0, [TEXT, "two"]), finished.stderr
    assert [event["kind"] for event in finished.events].count("call.retried") == 1


@pytest.mark.slow
def test_a_stream_that_stalls_is_tried_again_until_the_retries_are_spent(ask, server):
    server.script(*[Reply(TEXT, stream=Stream(after=3, then="stall"))] * 2)
    finished = ask(CODE_COMMIT_HTTP__STALL_SECONDS="0.2", CODE_COMMIT_HTTP__RETRIES="1", **ALWAYS)
    assert (finished.exit_code, "no data for 0.2 s (gave up after 2 tries)" in finished.stderr) == (
        0,
        True,
    )


@pytest.mark.slow
def test_a_server_that_refuses_to_stream_costs_no_retry(ask, server):
    def refuse(request):
        return Reply.error(400, "stream is not supported") if "stream" in request.json else "whole"

    server.script(*[refuse] * 4)
    finished = ask("--max-cost", "1", CODE_COMMIT_HTTP__RETRIES="0", **ALWAYS)
    assert finished.exit_code == 0, finished.stderr
    assert streams(server) == [True, True, False, False]
    assert finished.stderr.count("warning: openai refused to stream") == 1


@pytest.mark.parametrize(
    "then", ["drop", Reply.error(429, "too fast")], ids=["dropped", "a limit of the rate"]
)
def test_a_lost_try_counts_in_full(ask, server, then):
    server.script(Reply(TEXT, stream=Stream(after=3, then=then)), Reply("one"), Reply("two"))
    config = f"{named('always')}max_tokens = 1000\n"  # at most $0.01
    finished = ask("--max-cost", "0.015", model="openai.mine", config=config)
    assert (finished.exit_code, len(server.requests)) == (6, 1), finished.stderr


@pytest.mark.slow
def test_missing_usage_leaves_the_cost_unknown(ask, server):
    server.script(Reply("one", usage=None), Reply("two", usage=None))
    finished = ask("--json", **ALWAYS)
    calls = [event["data"] for event in finished.events if event["kind"] == "call.finished"]
    assert [(call["output_tokens"], call["cost_usd"]) for call in calls] == [(None, None)] * 2
