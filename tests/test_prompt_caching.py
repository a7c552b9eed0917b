"""Prompts begin with what stays the same, so that services read it from their caches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from code_commit.plugin_api import ToolCall, Usage, cost_of
from code_commit_testing import Finished, Project, Reply, ScriptedServer, install_plugin
from code_commit_testing.billing import Billing, common_start

KEY = "sk-canary-0123456789-key7Q"


# --- runs -----------------------------------------------------------------------------------------

# A plugin whose own address is the test's, so that it gets the fields that other servers may
# refuse.
OWN = """
import os
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_anthropic.plugin import ANTHROPIC
from code_commit_openai.plugin import OPENAI

@hookimpl
def code_commit_providers():
    for definition, suffix in ((OPENAI, "/v1"), (ANTHROPIC, "")):
        address = os.environ["OWN_ADDRESS"] + suffix
        yield replace(definition, name=f"own-{definition.name}", models={}, base_url=address, base_url_variable=None)
"""
CODE = "".join(f"value_{number} = {number}\n" for number in range(2500))
# The build passes if a.txt contains "good". Its output is about an eighth of what the prompts have
# in common.
BUILD = "grep -q good a.txt || { head -c 4200 /dev/zero | tr '\\0' x; exit 1; }\n"
REPAIRED = ["^^^a.txt\nbad\n^^^end\n", "^^^a.txt\ngood\n^^^end\n"]


@dataclass(frozen=True)
class Runs:
    """Runs the command with a service that bills."""

    project: Project
    plugins: Path

    def __call__(
        self, billing: Billing, replies: list[Reply | str], *arguments: str, **more: Any
    ) -> Finished:
        with ScriptedServer(billing.answering(*replies)) as server:
            names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
            environ = {
                **dict.fromkeys(names, KEY),
                **server.environment(),
                "OWN_ADDRESS": server.address,
            }
            environ["CODE_COMMIT_SANDBOX"] = "off"
            return self.project.command(
                *arguments, "--json", environ=environ, plugins=[self.plugins], **more
            )

    def configure(self, text: str) -> None:
        self.project.write({"agent-config/config.toml": text})


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    project = Project.create(
        tmp_path, build=BUILD, rollup=f"--- a.txt ---\nold\n--- code.py ---\n{CODE}"
    )
    return Runs(project, install_plugin(tmp_path / "plugins", "own", OWN))


def usages(finished: Finished) -> list[Usage]:
    """Return the usage of each call, as the run reports it."""
    assert finished.exit_code == 0, finished.stdout + finished.stderr
    calls = [event["data"] for event in finished.events if event["kind"] == "call.finished"]
    return [
        Usage(call["input_tokens"], 0, call["cache_read_tokens"], call["cache_write_tokens"])
        for call in calls
    ]


def share_of_price(model: str, usage: Usage) -> float:
    """Return what the prompt costs, as a share of its price without a cache."""
    cost, uncached = cost_of(model, usage), cost_of(model, Usage(usage.input, 0))
    assert cost is not None
    assert uncached is not None
    return cost / uncached


AUTOMATIC, MARKS = {"minimum": 1024, "step": 128}, {"minimum": 1024}
SERVICES = {
    "gpt-5": AUTOMATIC,
    "own-openai/gpt-5.6-sol": MARKS,
    "claude-sonnet-4-5": MARKS,
    "claude-opus-4-5": {"minimum": 4096},
    "gemini-2.5-pro": {"minimum": 2048, "step": 1},
}


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("model", SERVICES)
def test_the_input_of_a_repair_costs_at_most_a_fifth(runs, model):
    runs.configure('[plugins.commit]\nprompt_order = "cached"\n')
    billing = Billing(**SERVICES[model])
    first, repair = usages(runs(billing, REPAIRED, "--model", model))
    tail = billing.bills[1].input - billing.bills[1].read
    assert 0.1 < tail / billing.bills[1].read <= 0.125
    assert share_of_price(model.rpartition("/")[2], repair) <= 0.2
    # The first prompt is written, if that costs anything, but for the few words that a repair does
    # not have.
    is_written = "step" not in SERVICES[model]
    assert (
        is_written * 0.95 * (first.input or 0)
        <= (first.cache_write or 0)
        <= is_written * (first.input or 0)
    )
    assert not repair.cache_write


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("model", "least"), [("gpt-4.1", 0.3), ("gpt-4o", 0.5)])
def test_it_costs_more_with_models_that_read_at_a_higher_price(runs, model, least):
    runs.configure('[plugins.commit]\nprompt_order = "cached"\n')
    _, repair = usages(runs(Billing(**AUTOMATIC), REPAIRED, "--model", model))
    assert least < share_of_price(model, repair) < 0.7


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "own-openai/gpt-5.6-sol", "gpt-5"])
def test_the_standard_order_pays_no_cache(runs, model):
    """The build's output comes early there, so a repair reads nothing, and nothing may be written
    for it.
    """
    billing = Billing(**SERVICES[model])
    for usage in usages(runs(billing, REPAIRED, "--model", model)):
        assert not usage.cache_write
        assert share_of_price(model.rpartition("/")[2], usage) > 0.9


@pytest.mark.parametrize("arguments", [("--repairs", "0"), ("--dry-run",)])
def test_no_prompt_is_written_to_the_cache_without_a_repair(runs, arguments):
    runs.configure('[plugins.commit]\nprompt_order = "cached"\n')
    billing = Billing(**MARKS)
    (usage,) = usages(runs(billing, REPAIRED[1:], "--model", "claude-sonnet-4-5", *arguments))
    assert (usage.cache_write, billing.bills[0].written) == (0, 0)


def test_nothing_depends_on_a_hit(runs):
    runs.configure('[plugins.commit]\nprompt_order = "cached"\n')
    never = Billing(minimum=2048, step=1, guaranteed=False)
    assert [
        usage.cache_read for usage in usages(runs(never, REPAIRED, "--model", "gemini-2.5-pro"))
    ] == [0, 0]


def test_the_cached_order_is_logged_as_it_is_sent(runs):
    runs.configure('[plugins.commit]\nprompt_order = "cached"\n')
    billing = Billing(**AUTOMATIC)
    runs(billing, REPAIRED, "--model", "gpt-5")
    sent = [request["messages"][0]["content"] for request in billing.requests]
    names = ("1-initial-query.txt", "2-repair-query.txt")
    assert [(runs.project.run_folder / name).read_text() for name in names] == sent
    same = sent[0][: common_start(sent[0].encode(), sent[1].encode())]
    assert same.index("[query]") < same.index("[codebase]") < same.index(CODE)
    assert sent[1].removeprefix(same).index("build.sh output") > 0


@pytest.mark.parametrize("model", ["gpt-5.6-sol", "claude-sonnet-4-5"])
def test_other_addresses_get_no_field_that_they_may_not_know(runs, model):
    provider = "openai" if model.startswith("gpt") else "anthropic"
    lines = '[providers.{}.default]\ncache_ttl = "1h"\n' if provider == "anthropic" else ""
    names = (provider, f"own-{provider}")
    runs.configure(
        '[plugins.commit]\nprompt_order = "cached"\n' + "".join(map(lines.format, names))
    )
    sent = {}
    for name in names:
        billing = Billing(**MARKS)
        runs(billing, REPAIRED, "--model", f"{name}/{model}")
        sent[name] = billing.requests[0]
    unknown = {"openai": ("prompt_cache",), "anthropic": ("ttl",)}[provider]
    for word in unknown:
        assert word not in json.dumps(sent[provider])
        assert word in json.dumps(sent[f"own-{provider}"])
    if provider == "openai":
        assert isinstance(sent["openai"]["messages"][0]["content"], str)


def test_the_cache_key_is_that_of_the_prefix(runs):
    runs.configure('[plugins.commit]\nprompt_order = "cached"\n')
    keys = []
    for query in ("One.", "One.", "Another."):
        billing = Billing(**AUTOMATIC)
        runs(billing, REPAIRED, "--model", "own-openai/gpt-5", "--query", query)
        runs.project.git("checkout", "--quiet", "a.txt")
        keys += [request["prompt_cache_key"] for request in billing.requests]
    assert len(keys) == 6
    assert len(set(keys[:4])) == len(set(keys[4:])) == 1
    assert keys[0] != keys[4]
    assert len(keys[0]) <= 64


def test_an_hour_in_the_cache_costs_twice_the_input(runs):
    table = '[providers.own-anthropic.default]\ncache_ttl = "1h"\nmax_tokens = 100\n'
    runs.configure(f'[plugins.commit]\nprompt_order = "cached"\n{table}')
    model, billing = "claude-sonnet-4-5", Billing(**MARKS)
    finished = runs(billing, REPAIRED, "--model", f"own-anthropic/{model}")
    calls = [event["data"] for event in finished.events if event["kind"] == "call.finished"]
    price = 3e-6  # USD for a token of input
    assert billing.bills[0].hour == billing.bills[0].written > 0
    assert calls[0]["cost_usd"] == pytest.approx(billing.bills[0].cost() * price + 5 * 15e-6)
    assert (calls[1]["cost_usd"], billing.bills[1].written) == (None, 0)  # genai-prices knows it


# --- agents ---------------------------------------------------------------------------------------


def called(number: int, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{number}", name, arguments)


def shares_read(billing: Billing, of: slice) -> list[float]:
    return [bill.read / bill.input for bill in billing.bills[of]]


# The system prompt and the tools of an agent are short, so that the minimum would hide what is
# tested.
AGENT_SERVICES = {model: {**service, "minimum": 256} for model, service in SERVICES.items()}


@pytest.mark.parametrize("model", [model for model in AGENT_SERVICES if model != "claude-opus-4-5"])
def test_an_agent_reads_its_conversation_from_the_cache(runs, model):
    requirements = "Write é.txt.\n" + "It matters.\n" * 200
    # So that the build passes.
    runs.project.write({"requirements.md": requirements, "a.txt": "good\n"})
    work = [
        Reply(tool_calls=(called(1, "todo_write", content="- [ ] é\n"),)),
        Reply(
            tool_calls=(
                called(2, "write_file", path="é.txt", content="é\n"),
                called(3, "read_file", path="a.txt"),
            )
        ),
        Reply(tool_calls=(called(4, "read_file", path="é.txt"),)),
        Reply(tool_calls=(called(5, "todo_write", content="- [x] é\n"),)),
        Reply(tool_calls=(called(6, "final_output", summary="é is there"),)),
    ]
    review = [
        Reply(tool_calls=(called(7, "read_file", path="é.txt"),)),
        Reply(tool_calls=(called(8, "final_output", summary="IMPLEMENTATION_APPROVED"),)),
    ]
    billing = Billing(**AGENT_SERVICES[model])
    finished = runs(billing, [*work, *review], "--autonomous", "--model", model)
    assert len(usages(finished)) == 7
    for share in shares_read(billing, slice(1, 5)) + shares_read(billing, slice(6, 7)):
        assert share >= 0.8


# The instructions of the task agent have fewer tokens than claude-opus-4-5 and some others cache.
@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "own-openai/gpt-5.6-sol", "gpt-5"])
def test_the_task_agent_reads_repeated_prompts_from_the_cache(runs, model):
    def code(body: str) -> str:
        return f"```typescript\nasync function agent_code(): Promise<any> {{\n{body}\n}}\n```\n"

    steps = [
        {
            "title": title,
            "description": f"Please {title}.",
            "step_type": "research",
            "exit_requirement": {"type": "pattern", "pattern": "good"},
        }
        for title in ("look", "look again")
    ]
    listed = code(f"return {json.dumps({'title': 'all', 'steps': steps})};")
    replies = [listed, *[code('return "bad";'), code('return "good";')] * 2]
    billing = Billing(**SERVICES[model])
    finished = runs(billing, replies, "--task", "Do it.", "--no-build", "--model", model)
    assert len(usages(finished)) == 5
    # All begin with the same instructions, and the second attempts with those of the first, too.
    assert all(share >= 0.8 for share in shares_read(billing, slice(1, 5)))
