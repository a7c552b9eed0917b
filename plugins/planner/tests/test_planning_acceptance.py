"""The acceptance checks judge what the coach approved, if the settings ask for them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from code_commit_testing import install_plugin

CHECK = '''
from code_commit.plugin_api import AcceptanceCheck, Change, Verdict, hookimpl

@hookimpl
def code_commit_acceptance():
    return [AcceptanceCheck("taste", accept, roles=("reviewer",))]

def accept(run, submission):
    """Refuse what is poor; note what each file was, and build with the files from before."""
    notes = [f"{change.path}: {submission.originals[change.path]}" for change in submission.changes]
    with run.trial(show=submission.originals):
        assert (run.root / "one.txt").read_bytes() == b"1\\n"
    poor = any(b"poor" in change.content for change in submission.changes)
    return Verdict(not poor, "poor taste\\nBe finer.", notes, {"Is-Two": str("Add two." in submission.query)})
'''
ACCEPTANCE = "[plugins.planner]\nacceptance = true\n"
POOR = "one.txt: b'1\\n'"
OPTIONS: tuple[str, ...] = ("--json", "--sandbox=off")
if find_spec("code_commit_acceptance"):
    OPTIONS += ("--disable-plugin=acceptance",)


@pytest.fixture
def plugins(codebase, tmp_path: Path) -> list[Path]:
    """A check, and a project whose build is green; the player's first work is poor."""
    cast = codebase.cast
    codebase.write("build.sh", "test -e one.txt\n")
    cast.player = [
        cast.called("todo_write", content="- [x] one\n"),
        cast.called("shell", command="echo poor > one.txt"),
        cast.done("one"),
        cast.writes("one.txt", "fine\n"),
        cast.done("finer"),
    ]
    return [install_plugin(tmp_path / "plugins", "taste", CHECK)]


def configure(codebase, *, reviewer: bool = True) -> None:
    config = codebase.read("agent-config/config.toml")
    if reviewer:
        config = config.replace("[providers]", '[providers]\nreviewer = "openai.coach"', 1)
    codebase.write("agent-config/config.toml", config + ACCEPTANCE)


def test_a_refusal_goes_back_to_the_player_over_several_runs(codebase, plugins):
    codebase.write("requirements.md", "Add two.\n")
    autonomous = ("--autonomous", *OPTIONS, *codebase.flags)
    configure(codebase)
    refused = codebase.project.command(*autonomous, "--max-turns=1", plugins=plugins)
    end = refused.events[-1]["data"]
    assert (refused.exit_code, end["data"]["end"]) == (1, "out of turns")
    assert end["data"]["acceptance"]["refused_by"] == "taste of code-commit-taste"
    accepted = codebase.project.command(*autonomous, plugins=plugins)
    assert accepted.exit_code == 0
    prompt = codebase.cast.requests["player"][3].prompt
    assert "the change is not accepted. Correct it:\npoor taste\nBe finer." in prompt
    acceptance = accepted.events[-1]["data"]["data"]["acceptance"]
    assert acceptance["notes"] == [POOR]  # as before the first of both runs
    assert acceptance["trailers"] == {"Is-Two": "True"}


def test_planning_builds_and_commits_what_the_checks_say(codebase, plugins):
    configure(codebase)
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    completed = codebase.project.command(
        "--planning",
        f"--codepath={codebase.project.root}",
        *OPTIONS,
        *codebase.flags,
        stdin="yes\nyes\n\nyes\nyes\ncommit\nquit\n",
        plugins=plugins,
    )
    assert completed.exit_code == 0
    notices = [row["data"]["text"] for row in completed.events if row["kind"] == "planner.told"]
    assert (
        "The coach has approved the implementation, but taste of code-commit-taste refuses the "
        "change:\n  poor taste\n  Be finer." in notices
    )
    assert f"The acceptance checks accept the change:\n  {POOR}\n  Is-Two: True" in "".join(notices)
    message = codebase.project.git("log", "-1", "--format=%B")
    assert "\nRequirements: completed_requirements_" in message
    assert message.endswith("\nIs-Two: True\n\n")


def test_without_the_setting_no_check_and_no_reviewer_is_needed(codebase, plugins):
    codebase.write("requirements.md", "Add two.\n")
    autonomous = ("--autonomous", *OPTIONS, *codebase.flags)
    completed = codebase.project.command(*autonomous, plugins=plugins)
    assert (completed.exit_code, codebase.read("one.txt")) == (0, "poor\n")
    assert "acceptance" not in completed.events[-1]["data"]["data"]
    calls = len(codebase.cast.requests["player"])
    configure(codebase, reviewer=False)
    completed = codebase.project.command(*autonomous, plugins=plugins)
    assert (completed.exit_code, len(codebase.cast.requests["player"])) == (3, calls)
    assert "key" in completed.stderr
