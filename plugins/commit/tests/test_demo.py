"""`code-commit demo` shows a real run with recorded responses."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from code_commit.cli.host import CommandHost
from code_commit_testing import Project


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    pytest.importorskip(
        "code_commit_history",
        reason="the demo replays a run; the environment `history` has the plugin",
    )
    project = Project.create(tmp_path_factory.mktemp("demo"))
    return project, project.command("demo", str(project.root / "played"))


def test_the_demo_passes_and_says_that_its_responses_are_recorded(shown):
    _, finished = shown
    assert finished.exit_code == 0, finished.stderr
    assert "it replays stored responses, calls no model and\nneeds no key" in finished.stdout
    assert (
        "BROKEN slugify('one two three', {'max_length': 7}) is 'one', not 'one-two'"
        in finished.stdout
    )
    assert "+    whole_words = slug" in finished.stdout
    assert "build ended with exit code 1" in finished.stderr
    assert "2 files changed, the build passes" in finished.stderr


def test_on_a_terminal_the_diff_is_shown_once(shown, tmp_path):
    ours, theirs = pty.openpty()
    output = b""
    with shown[0].start("demo", str(tmp_path / "demo"), stdout=theirs, stderr=theirs):
        os.close(theirs)
        with suppress(OSError):  # Linux: nobody has the other end any more
            while chunk := os.read(ours, 65536):
                output += chunk
    os.close(ours)
    assert output.count(b"+    whole_words = slug") == 1


def test_the_recording_matches_the_current_prompts(shown):
    # If not: python plugins/commit/tests/record_demo.py
    _, finished = shown
    assert "the prompt of call" not in finished.stderr


def test_the_project_of_the_demo_builds_and_can_be_undone(shown):
    project, finished = shown
    played = project.root / "played"
    subprocess.run(["bash", "build.sh"], cwd=played, check=True, capture_output=True)
    assert "max_length" in (played / "slugs.py").read_text()
    undo = finished.stdout.partition("Take the change back:\n")[2].partition("\nNext steps")[0]
    assert f"cd {played}\n" in undo
    subprocess.run(
        ["bash", "-euc", undo], env=project.environment(), check=True, capture_output=True
    )
    assert "max_length" not in (played / "slugs.py").read_text()


@pytest.mark.parametrize(
    ("folder", "said"), [(".", "is not empty"), ("build.sh/demo", "build.sh/demo: Not a directory")]
)
def test_the_demo_writes_only_to_an_empty_folder(project, folder, said):
    finished = project.command("demo", folder)
    assert (finished.exit_code, said in finished.stderr) == (3, True)


def test_a_full_disk_at_stdout_is_named(shown, tmp_path):
    with (
        Path("/dev/full").open("wb") as full,
        shown[0].start("demo", str(tmp_path / "demo"), stdout=full.fileno()) as process,
    ):
        _, stderr = process.communicate()
    assert (
        process.returncode,
        b"error: stdout cannot be written: No space left on device" in stderr,
    ) == (3, True)


def test_the_commands_of_the_next_steps_exist(shown):
    _, finished = shown
    commands = re.findall(r"^ +\d\. code-commit ([a-z]+)$", finished.stdout, re.MULTILINE)
    assert commands == ["init"]
    assert set(commands) <= CommandHost({}).registry.commands.keys()
