"""`code-commit demo`: what it shows is what happens."""

from __future__ import annotations

import re
import subprocess

import pytest

from code_commit.cli.host import CommandHost
from code_commit_testing import Project


@pytest.fixture
def shown(tmp_path):
    pytest.importorskip(
        "code_commit_history", reason="the demo replays a run; the environment `history` has the plugin"
    )
    project = Project.create(tmp_path)
    return project, project.command("demo", str(project.root / "played"))


def test_the_demo_ends_green_and_says_that_its_answers_are_recorded(shown):
    _, finished = shown
    assert finished.exit_code == 0, finished.stderr
    assert "the answers were written beforehand, no model is\nasked and no key is needed" in finished.stdout
    assert "BROKEN slugify('one two three', {'max_length': 7}) is 'one', not 'one-two'" in finished.stdout
    assert "+    whole_words = slug" in finished.stdout
    assert "build failed (exit 1)" in finished.stderr
    assert "2 files changed, the build passes" in finished.stderr


def test_the_recording_fits_the_prompts_of_today(shown):
    # If not: python plugins/commit/tests/record_demo.py
    _, finished = shown
    assert "asks something else" not in finished.stderr


def test_the_project_it_leaves_is_sound_and_can_be_undone(shown):
    project, _ = shown
    played = project.root / "played"
    subprocess.run(["bash", "build.sh"], cwd=played, check=True, capture_output=True)
    assert "max_length" in (played / "slugs.py").read_text()
    assert project.command("undo", cwd=played).exit_code == 0
    assert "max_length" not in (played / "slugs.py").read_text()


def test_it_does_not_write_into_a_folder_that_is_not_empty(shown):
    project, _ = shown
    finished = project.command("demo", str(project.root))
    assert (finished.exit_code, "is not empty" in finished.stderr) == (3, True)


def test_what_it_says_to_do_next_can_be_done(shown):
    _, finished = shown
    told = re.findall(r"^ +\d\. code-commit ([a-z]+)$", finished.stdout, re.MULTILINE)
    assert told == ["init", "rollup"]
    assert set(told) <= CommandHost({}).registry.commands.keys()
