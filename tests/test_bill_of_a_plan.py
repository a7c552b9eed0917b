"""What agents pay for long work, compared with a cache that forgets nothing."""

from __future__ import annotations

from typing import Any

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Project, Reply, ScriptedServer, install_plugin
from code_commit_testing.billing import Billing

OWN = """
import os
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_openai.plugin import OPENAI

@hookimpl
def code_commit_providers():
    address = os.environ["OWN_ADDRESS"] + "/v1"
    yield replace(OPENAI, name="own-openai", models={}, base_url=address, base_url_variable=None)
"""
AUTOMATIC, MARKS = {"minimum": 1024, "step": 128}, {"minimum": 1024}
SERVICES = {
    "gpt-5": AUTOMATIC,
    "own-openai/gpt-5.6-sol": MARKS,
    "claude-sonnet-4-5": MARKS,
    "gemini-2.5-pro": {"minimum": 1024, "step": 1},
}
REQUIREMENTS = "".join(
    f"{number}. The value {number} is {number * number}.\n" for number in range(600)
)
REPLIES = 40
CODE = "".join(f"value_{number} = {number}\n" for number in range(400))


class Work:
    """Scripted replies."""

    def __init__(self) -> None:
        self.replies: list[Reply | str] = []

    def calls(self, name: str, **arguments: Any) -> None:
        self.replies.append(
            Reply(tool_calls=(ToolCall(f"call_{len(self.replies)}", name, arguments),))
        )


@pytest.fixture
def billed(tmp_path):
    """Return a function that runs coach and player, and returns their bill as a multiple of that of
    a perfect cache.
    """
    files = {f"code_{number}.py": f"# {number}\n{CODE}" for number in range(REPLIES)}
    project = Project.create(tmp_path, files=files)
    project.write({"requirements.md": REQUIREMENTS})
    plugins = [install_plugin(tmp_path / "plugins", "own", OWN)]

    def run(model: str, work: Work, *, config: str = "") -> tuple[float, int]:
        project.write({"agent-config/config.toml": config})
        billing = Billing(**SERVICES[model])
        with ScriptedServer(billing.answering(*work.replies)) as server:
            names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
            environ = {
                **dict.fromkeys(names, "sk-0123456789"),
                **server.environment(),
                "OWN_ADDRESS": server.address,
            }
            arguments = (
                "--autonomous",
                "--max-turns=10",
                "--model",
                model,
                "--json",
                "--sandbox=off",
            )
            finished = project.command(*arguments, environ=environ, plugins=plugins)
        assert len(billing.bills) == len(work.replies), finished.stderr
        cost, least = (
            sum(bill.cost() for bill in bills) for bills in (billing.bills, billing.perfect)
        )
        shortened = [event for event in finished.events if event["kind"] == "toolbox.shortened"]
        return cost / least, len(shortened)

    return run


# The quick form of each test takes another service.
FIRST, LAST = [*SERVICES], [*reversed(SERVICES)]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("model", FIRST)
def test_each_turn_of_coach_and_player_reads_the_requirements_from_the_cache(billed, model):
    work = Work()
    for turn in range(REPLIES // 5):
        work.calls("read_file", path=f"code_{turn}.py")
        work.calls("write_file", path=f"new_{turn}.py", content=CODE[:2000])
        work.calls("final_output", summary=f"I have written part {turn}.")
        work.calls("read_file", path=f"new_{turn}.py")
        work.calls("final_output", summary=f"Part {turn + 1} is missing.")
    work.calls("final_output", summary="All is there.")
    work.calls("final_output", summary="IMPLEMENTATION_APPROVED")
    share, _ = billed(model, work)
    assert share <= 1.3


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("model", LAST)
def test_a_shortened_conversation_still_begins_with_what_is_cached(billed, model):
    work = Work()
    for number in range(REPLIES):
        work.calls("read_file", path=f"code_{number}.py")
    work.calls("final_output", summary="All is there.")
    work.calls("final_output", summary="IMPLEMENTATION_APPROVED")
    share, shortened = billed(model, work, config="[plugins.toolbox]\ncontext_tokens = 30000\n")
    assert share <= 1.3
    assert shortened >= 2
