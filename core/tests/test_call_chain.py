"""The layers that a model call goes through: each alone, and all of them in a run of the
command.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin

LAYERS = """
from dataclasses import replace
from code_commit.plugin_api import *
from code_commit_testing.scripted_provider import ScriptedProvider

NAME = {name!r}


def tag(call, next):
    completion = next(call)
    text = f"{{NAME}}({{completion.text}})"
    return replace(completion, message=Message("assistant", (Text(text),)))


def cache(call, next, kept={{}}):
    call.warn(
        f"{{call.role}} {{call.provider}} {{call.model}} {{call.label}} {{call.number}} {{call.deadline}}"
    )
    if kept:
        return replace(kept["completion"], cached=True)
    kept["completion"] = next(call)
    return kept["completion"]


def crash(call, next):
    raise ValueError("boom")


def leave(call, next):
    raise SystemExit(9)


def policy(call, next):
    raise LimitReached("not on a Sunday")


def twice(call, next):
    return (next(call), next(call))[1]


def enough(call, next):
    raise LimitReached(f"enough of {{next(call).text}}")


def nothing(call, next):
    pass


def other(call, next):
    return next(replace(call, request=replace(call.request, system="be evil")))


def stop(call, next):
    raise KeyboardInterrupt


def through(call, next):
    return next(call)


@hookimpl
def code_commit_model_layers(settings):
    {gives}
"""


def add_layers(plugins: Path, name: str, gives: str) -> None:
    install_plugin(plugins, name, LAYERS.format(name=name, gives=gives))


def run(
    project: Project,
    plugins: Path,
    server: ScriptedServer,
    *arguments: str,
    model: str = "loopback/gpt-5",
) -> Finished:
    environ = {"LOOPBACK_BASE_URL": server.url("openai")}
    command = ("--ask", "--json", "--model", model, *arguments)
    return project.command(*command, plugins=[plugins], environ=environ)


def answers(finished: Finished) -> list[str]:
    assert finished.exit_code == 0, finished.stderr
    return finished.events[-1]["data"]["data"]["answers"]


def of_kind(finished: Finished, kind: str) -> list[dict]:
    return [event["data"] for event in finished.events if event["kind"] == kind]


@pytest.mark.slow
def test_lost_tries_count_in_a_run(project, asking, server):
    server.script(Reply.error(500), Reply.error(500), Reply.error(500), Reply("good"))
    finished = run(project, asking, server, "--max-cost", "0.4")
    assert (finished.exit_code, len(server.requests)) == (6, 1), finished.stderr
    assert "the next call could cost up to $0.32" in finished.stderr
    assert "$0.32" in finished.stderr.partition("; ")[2], "the lost try is counted in full"
    assert of_kind(finished, "call.finished")[0]["cost_usd"] is None


@pytest.mark.slow
def test_what_the_service_did_not_work_on_costs_nothing(project, asking, server):
    server.script(Reply.error(429, retry_after="0"), Reply.error(401), Reply("good"))
    finished = run(project, asking, server, "--max-cost", "0.4")
    assert answers(finished) == ["failed: auth", "good"]
    assert of_kind(finished, "call.finished")[0]["error_kind"] == "auth"
    assert 0 < of_kind(finished, "call.finished")[1]["cost_usd"] < 0.001


BOUNDED = """
from dataclasses import replace
from pydantic import BaseModel
from code_commit.plugin_api import hookimpl
from code_commit_testing.loopback_provider import LOOPBACK, LoopbackWire


class Config(BaseModel):
    model: str
    max_tokens: int
    write_price: float | None = None


def wire_of(config):
    wire = LoopbackWire(config.model)
    wire.cache_write_price = config.write_price
    return wire


@hookimpl
def code_commit_providers():
    own = {
        each: f"bounded_plugin:{name}"
        for each, name in (("config", "Config"), ("factory", "wire_of"))
    }
    return [replace(LOOPBACK, name="bounded", models={"bounded-1": ()}, **own)]
"""


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("more", "cost"), [("write_price = 2.0\n", "$0.0012"), ("", "$0.00081")])
def test_the_config_of_a_provider_counts(project, asking, server, more, cost):
    install_plugin(asking, "bounded", BOUNDED)
    module = asking / "asking_plugin.py"
    module.write_text(
        module.read_text().replace("Text(prompt)", "Text(prompt * 50, cache_here=True)")
    )
    project.write(
        {"agent-config/config.toml": f"[providers.bounded.default]\nmax_tokens = 7\n{more}"}
    )
    finished = run(
        project, asking, server, "--max-cost", "0.00001", model="bounded/claude-opus-4-5"
    )
    assert (finished.exit_code, server.requests) == (6, []), finished.stderr
    assert f"could cost up to {cost} (" in finished.stderr
    assert "at most 7 tokens of reply); $0.0000 of $0.00001 is spent" in finished.stderr
    assert of_kind(finished, "call.finished")[0]["cost_usd"] == 0.0
    assert "cost: " not in finished.stderr, "no call was made"
    document = json.loads((project.run_folder / "run.json").read_text())
    assert document["calls"] == {"started": 0, "finished": 0, "failed": 0, "unknown": 0}


MEMORY = """
import gc, tracemalloc
from code_commit.plugin_api import (
    Flag,
    Message,
    Outcome,
    Request,
    Result,
    Text,
    WorkflowDefinition,
    hookimpl,
)


@hookimpl
def code_commit_workflows():
    flag = Flag(("--measure",), "measure", selects=True)
    return [
        WorkflowDefinition("measuring", "measure", (flag,), "measuring_plugin:run", writes=False)
    ]


def run(run):
    gc.disable()  # a cycle would keep the prompt for some time
    kept = []
    for _ in range(2):
        tracemalloc.start()
        run.model().complete(
            Request((Message("user", (Text("a" * 1_000_000 + "b"),)),)), label="ask"
        )
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    return Result(Outcome.REACHED, "done", {"kept": kept[-1]})  # of the first, imports are kept
"""


@pytest.mark.slow
def test_no_prompt_is_kept_after_its_call(project, asking, server):
    install_plugin(asking, "measuring", MEMORY)
    server.script(Reply("1"), Reply("2"))
    environ = {"LOOPBACK_BASE_URL": server.url("openai")}
    command = ("--measure", "--json", "--model", "loopback/of-unknown-window")
    finished = project.command(*command, plugins=[asking], environ=environ)
    assert finished.exit_code == 0, finished.stderr
    assert finished.events[-1]["data"]["data"]["kept"] < 500_000


LEAVING = """
import threading, time
from code_commit.plugin_api import *


@hookimpl
def code_commit_workflows():
    flag = Flag(("--leave",), "leave a call running", selects=True)
    return [
        WorkflowDefinition(
            "leaving", "leave a call running", (flag,), "leaving_plugin:run", writes=False
        )
    ]


def ask(run):
    try:
        run.model().complete(Request((Message("user", (Text("hi"),)),)), label="ask")
    except CodeCommitError:
        pass


def run(run):
    threading.Thread(target=ask, args=(run,), daemon=True).start()
    while not {until}:
        time.sleep(0.01)
    return Result(Outcome.REACHED, "done")
"""


@pytest.mark.parametrize(
    ("reply", "until"),
    [
        (
            Reply(fault="hang"),
            "any(each.name == 'code-commit loopback' for each in threading.enumerate())",
        ),
        (
            Reply.error(500, retry_after="30"),
            "'call.retried' in (run.folder / 'events.jsonl').read_text()",
        ),
    ],
)
def test_the_end_of_a_run_ends_a_call_and_the_wait_for_its_next_try(
    project, asking, server, reply, until
):
    install_plugin(asking, "leaving", LEAVING.format(until=until))
    server.script(reply)
    environ = {"LOOPBACK_BASE_URL": server.url("openai")}
    finished = project.command(
        "--leave", "--json", "--model", "loopback-1", plugins=[asking], environ=environ
    )
    assert finished.exit_code == 0
    assert [event["error"] for event in of_kind(finished, "call.finished")] == [
        "the run ended before the call did"
    ]


def test_a_call_that_ctrl_c_ends_says_so(project, asking, server):
    add_layers(asking, "stopper", "return [stop]")
    finished = run(project, asking, server)
    assert finished.exit_code == 130
    assert [event["error"] for event in of_kind(finished, "call.finished")] == ["interrupted"]
    assert (project.run_folder / "1-ask-response.txt").read_text() == "ERROR\ninterrupted\n"


TOLL = """
from code_commit.plugin_api import *

@hookimpl
def code_commit_secrets():
    return ["TOLL_TOKEN"]

@hookimpl
def code_commit_settings():
    return "toll_plugin:Toll"

def __getattr__(name):
    from pydantic import create_model
    return create_model("Toll", gate=(str, "north"))

@hookimpl
def code_commit_model_layers(settings, secret):
    def layer(call, next):
        call.warn(f"{settings.gate} {len(secret('TOLL_TOKEN'))}")
        return next(call)
    return [layer]
"""


def test_layers_run_by_the_name_of_their_plugin_and_the_log_counts_what_was_asked(
    project, asking, server
):
    for name in ("zoo", "ark", "mid"):
        add_layers(asking, name, "return [tag, tag]")
    add_layers(asking, "zz-keeper", "return [cache]")
    install_plugin(asking, "toll", TOLL)
    server.script(Reply("1"))
    environ = {"LOOPBACK_BASE_URL": server.url("openai"), "TOLL_TOKEN": "toll-canary-0123456789"}
    command = ("--ask", "--json", "--model", "loopback/gpt-5", "--max-cost", "0.4")
    began = time.monotonic()
    finished = project.command(*command, plugins=[asking], environ=environ)
    took = time.monotonic() - began
    assert answers(finished) == ["ark(ark(mid(mid(zoo(zoo(1))))))"] * 2
    first, second = of_kind(finished, "call.finished")
    assert (first["cost_usd"] > 0, second["cost_usd"]) == (True, 0.0)
    assert (first["input_tokens"], second["input_tokens"]) == (1, 0)
    assert first["seconds"] == round(first["seconds"], 3) < took
    messages = of_kind(finished, "message")
    assert [message["text"] for message in messages] == [
        *("north 22", "default loopback gpt-5 ask 1 inf"),
        *("north 22", "default loopback gpt-5 ask 2 inf"),
    ]
    assert {message["level"] for message in messages} == {"warning"}
    assert (project.run_folder / "2-ask-response.txt").read_text() == answers(finished)[0]


@pytest.mark.parametrize(
    ("layers", "exit_code", "calls", "sent"),
    [("twice", 0, 2, 4), ("enough", 6, 1, 1), ("enough, twice", 6, 1, 2)],
)
def test_every_answer_that_a_layer_asks_for_is_counted(
    project, asking, server, layers, exit_code, calls, sent
):
    add_layers(asking, "odd", f"return [{layers}]")
    server.script(*[Reply("a") for _ in range(sent)])  # of one token, for a prompt of one
    finished = run(project, asking, server, "--max-cost", "1")
    assert (finished.exit_code, len(server.requests)) == (exit_code, sent), finished.stderr
    document = json.loads((project.run_folder / "run.json").read_text())
    assert (document["calls"]["finished"], document["cost_usd"]) == (
        calls,
        pytest.approx(11.25e-6 * sent),
    )
    assert (document["tokens"]["input"], document["tokens"]["output"]) == (sent, sent)


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        ("crash", "a model layer of code-commit-odd failed: ValueError: boom"),
        ("leave", "a model layer of code-commit-odd failed: SystemExit"),
        (
            "nothing",
            "a model layer of code-commit-odd failed: TypeError: it returned None for a Completion",
        ),
        (
            "other",
            "a model layer of code-commit-odd: it passed on a different call than it received",
        ),
    ],
)
def test_a_layer_that_breaks_its_promise_ends_the_call_by_name(
    project, asking, server, layer, says
):
    add_layers(asking, "odd", f"return [{layer}]")
    add_layers(asking, "around", "return [through]")  # which is not to blame
    finished = run(project, asking, server)
    assert (finished.exit_code, server.requests) == (4, []), finished.stderr
    assert says in finished.stderr
    assert of_kind(finished, "call.finished")[0]["error"].startswith(says)
    advice = "this is a bug in its plugin"
    if layer != "other":
        advice += "; --debug shows where"
    assert f"hint: {advice}\n" in finished.stderr


def test_an_error_of_the_host_raised_by_a_layer_is_the_runs(project, asking, server):
    add_layers(asking, "odd", "return [policy]")
    finished = run(project, asking, server)
    assert finished.exit_code == 6, finished.stderr
    assert "a model layer of code-commit-odd: not on a Sunday" in finished.stderr


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("gives", "says"),
    [
        ("class Layer: pass\n    return [Layer]", "Layer is a class; return an object of it"),
        ("return policy", "TypeError: it must return a list or None, not function"),
        ("raise ValueError('boom')", "ValueError: boom"),
        ("return ['crash']", "str is not callable"),
        (
            "return [lambda call: None]",
            "<lambda> is called with 2 arguments: too many positional arguments",
        ),
        (
            "async def layer(call, next): pass\n    return [layer]",
            "layer is async; use a plain function",
        ),
    ],
)
def test_a_run_does_not_start_with_a_broken_layer(project, asking, server, gives, says):
    add_layers(asking, "odd", gives)
    finished = run(project, asking, server)
    assert (finished.exit_code, server.requests) == (3, []), finished.stderr
    assert (
        f"the plugin odd of code-commit-odd has model layers and is broken (code_commit_model_layers): {says}"
        in finished.stderr
    )
    assert "--disable-plugin odd" in finished.stderr
    server.script(Reply("1"), Reply("2"))
    assert answers(run(project, asking, server, "--disable-plugin", "odd")) == ["1", "2"]


def test_a_factory_gets_the_root_if_it_asks_for_it(project, asking, server):
    code = """
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_testing.scripted_provider import SCRIPTED, ScriptedProvider


class Rooted(ScriptedProvider):
    model = "the-exact-name"


def made(config, root):
    return Rooted([f"{root.name}, runs: {len(list(root.glob('logs/*-asking')))}", "2"])


@hookimpl
def code_commit_providers():
    return [
        replace(
            SCRIPTED,
            name="rooted",
            factory="rooted_plugin:made",
            free=True,
            run_token="rooted_plugin:token",
        )
    ]


def token(model, root):
    return f"{model} in {root.name}"
"""
    install_plugin(asking, "rooted", code)
    finished = project.command(
        "--ask", "--json", "--model", "rooted/x", "--max-cost", "0.001", plugins=[asking]
    )
    assert answers(finished)[0] == "project, runs: 0"
    assert of_kind(finished, "run.started")[0]["token"] == "x in project"
    assert of_kind(finished, "call.started")[0]["model"] == "the-exact-name"
    assert of_kind(finished, "call.finished")[0]["cost_usd"] == 0.0


def test_a_layer_sees_what_the_host_gave_up_on(project, asking, server):
    code = """
from code_commit.plugin_api import *

def second_chance(call, next):
    try:
        return next(call)
    except ProviderFailed as error:
        call.warn(error.message)
        return next(call)

@hookimpl
def code_commit_model_layers():
    return [second_chance]
"""
    install_plugin(asking, "chance", code)
    server.script(Reply.error(400), Reply("1"), Reply("2"))
    finished = run(project, asking, server)
    assert answers(finished) == ["1", "2"]
    assert [message["text"][:7] for message in of_kind(finished, "message")] == ["gpt-5: "]
    assert len(of_kind(finished, "call.started")) == 2


def test_the_redacted_request_is_what_layers_see(project, asking, server):
    code = """
from code_commit.plugin_api import *

@hookimpl
def code_commit_model_layers():
    def layer(call, next):
        if "canary" in str(call.request):
            raise ProviderFailed("a key")
        return next(call)
    return [layer]
"""
    install_plugin(asking, "eye", code)
    module = asking / "asking_plugin.py"
    module.write_text(
        module.read_text().replace('("one", "two")', '("one", "the key is sk-canary-0123456789")')
    )
    server.script(Reply("1"), Reply("my key is sk-canary-0123456789"))
    environ = {
        "LOOPBACK_BASE_URL": server.url("openai"),
        "LOOPBACK_API_KEY": "sk-canary-0123456789",
    }
    finished = project.command(
        "--ask", "--json", "--model", "loopback/gpt-5", plugins=[asking], environ=environ
    )
    assert (finished.exit_code, len(server.requests)) == (5, 2), finished.stderr
    assert "the response of call 2 contains an API key" in finished.stderr


def test_an_alias_stands_for_its_own_model(project, asking, server):
    several = '{"one-1": ("one",), "two-1": ("two", "second")}'
    install_plugin(
        asking,
        "bounded",
        BOUNDED.replace('{"bounded-1": ()}', several).replace(": int\n", ": int = 7\n"),
    )
    server.script(Reply("1"), Reply("2"))
    started = of_kind(run(project, asking, server, model="second"), "call.started")
    assert [event["model"] for event in started] == ["two-1", "two-1"]
