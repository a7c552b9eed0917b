"""Instructions of plugins: further sections of the prompts, through the command."""

from __future__ import annotations

import pytest

from code_commit_commit.prompts import system_prompt
from code_commit_testing import install_plugin

BAD, GOOD = "^^^a.txt\nbad\n^^^end\n", "^^^a.txt\ngood\n^^^end\n"
HOOK = """
from code_commit.plugin_api import hookimpl

@hookimpl(optionalhook=True)
def code_commit_instructions(settings):
    return [{}]
"""
TABS = HOOK.format(
    'lambda run, kind: f"Use tabs ({kind}).", lambda run, kind: "^^^b.txt\\nx\\n^^^end"'
)
AGENTS = """
from code_commit.plugin_api import hookimpl


@hookimpl(optionalhook=True)
def code_commit_instructions(settings):
    return [agents_file]


def agents_file(run, kind):
    return (run.tree.read("AGENTS.md") or b"").decode()
"""


@pytest.fixture
def run(change, tmp_path):
    """Return a function that runs the command with plugins."""

    def run(replies: list[str], settings: str = "", **plugins: str):
        change.script(replies, settings)
        folders = [change.plugins]
        for name, code in plugins.items():
            folders.append(install_plugin(tmp_path / name, name, code, distribution=f"team-{name}"))
        return change.project.command(plugins=folders, environ={"CODE_COMMIT_SANDBOX": "off"})

    return run


def test_each_distribution_has_a_section_in_every_prompt(run, change):
    change.project.write({"AGENTS.md": "Write tests.\n"})
    finished = run([BAD, GOOD], tabs=TABS, agents=AGENTS, none=HOOK.format(""))
    assert finished.exit_code == 0, finished.stderr
    first, repair = change.prompts()
    agents = "[instructions of team-agents]\nWrite tests.\n\n"
    tabs = "[instructions of team-tabs]\nUse tabs ({}).\n\n^^^b.txt\nx\n^^^end\n\n"
    assert f"{system_prompt('initial_query')}\n{agents}{tabs.format('initial')}[query]" in first
    assert f"{system_prompt('repair_query')}\n{agents}{tabs.format('repair')}[build.sh" in repair
    assert "team-none" not in first


def test_what_is_in_every_prompt_stands_in_its_cached_part(run, change):
    change.project.write({"AGENTS.md": "Write tests.\n"})
    settings = '[plugins.commit]\nprompt_order = "cached"'
    run([BAD, GOOD], settings, tabs=TABS, agents=AGENTS)
    first, repair = change.prompts()
    common, _, last = first.partition(system_prompt("initial_query"))
    assert repair.startswith(common + system_prompt("repair_query"))
    assert "[instructions of team-agents]\nWrite tests.\n\n[query]\n" in common
    assert last.startswith("\n[instructions of team-tabs]\nUse tabs (initial).\n")


def test_an_empty_text_is_no_section(run, change):
    finished = run([GOOD], agents=AGENTS)
    assert finished.exit_code == 0, finished.stderr
    (prompt,) = change.prompts()
    assert "[instructions" not in prompt


def test_a_response_may_not_repeat_a_block_of_a_section(run, change):
    finished = run(["^^^b.txt\nx\n^^^end\n" + GOOD, GOOD], tabs=TABS)
    assert finished.exit_code == 0, finished.stderr
    assert "the response repeats the block `^^^b.txt` of its prompt" in change.prompts()[1]
    assert not (change.project.root / "b.txt").exists()


BROKEN = {
    "raises": ("lambda run, kind: 1 / 0", "ZeroDivisionError"),
    "raises for a repair": ("lambda run, kind: {'initial': 'x'}[kind]", "KeyError: 'repair'"),
    "exits": ("lambda run, kind: exit(3)", "SystemExit"),
    "returns no text": ("lambda run, kind: None", "it must return a string, not NoneType"),
    "returns no Unicode": ("lambda run, kind: '\\ud800'", "UnicodeEncodeError"),
    "is no function": ("5", "TypeError"),
    "hook fails": ("1 / 0", "ZeroDivisionError"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_plugin_ends_the_run_before_the_first_call(run, change, broken):
    code, error = BROKEN[broken]
    finished = run([GOOD], own=HOOK.format(code), agents=AGENTS)
    assert finished.exit_code == 3
    assert not list(change.project.root.glob("logs/*/*-query.txt"))
    assert "team-own" in finished.stderr
    assert error in finished.stderr
    disabled = change.project.command(
        "--disable-plugin", "team-own", plugins=[change.plugins, change.plugins.parent / "own"]
    )
    assert disabled.exit_code == 0, disabled.stderr


SMALL = """
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_testing.scripted_provider import SCRIPTED

@hookimpl
def code_commit_providers():
    return [replace(SCRIPTED, name="small", models={"tiny": ()}, windows={"tiny": 5000})]
"""


def test_a_section_that_is_too_long_is_named(change, tmp_path):
    plugins = tmp_path / "more"
    install_plugin(plugins, "small", SMALL)
    install_plugin(plugins, "long", HOOK.format('lambda run, kind: "word " * 6000'))
    finished = change.project.command("--model", "small/tiny", plugins=[plugins])
    assert finished.exit_code == 3, finished.stderr
    assert "shorten the section [instructions of code-commit-long]" in finished.stderr
