"""A trial: a change that is built, and then kept or put back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from code_commit_workspace import Change, ChangeSetRefused, NotReady, SandboxSettings, Workspace

README = Path(__file__).parents[1] / "README.md"
OFF = SandboxSettings(mode="off")
GOOD = [Change("a", b"new\n"), Change("b", None)]
BAD = [Change("a", b"other\n"), Change("c", b"c")]


@pytest.fixture
def workspace(small_project, monkeypatch):
    monkeypatch.chdir(small_project)
    with Workspace.open(
        Path(), writes=True, private_folder="agent-config", sandbox=OFF
    ) as workspace:
        yield workspace


def content(path: str) -> str | None:
    file = Path(path)
    return file.read_text() if file.exists() else None


def attempt(workspace, changes):
    with workspace.trial("tool") as trial:
        trial.apply(changes)
        if trial.build(timeout=60).passed:
            trial.keep()
    return trial


def test_a_red_trial_is_put_back_and_a_green_one_is_undone_by_name(workspace):
    red = attempt(workspace, BAD)
    assert (content("a"), content("c")) == ("old", None)
    assert set(red.put_back.paths) == {"a", "c"}
    green = attempt(workspace, GOOD)
    assert (red.run, green.run, content("a"), content("b")) == ("tool", "tool-2", "new\n", None)
    assert workspace.checkpoints.undo(None).run == "tool-2"
    assert (content("a"), content("b")) == ("old", "old")
    assert workspace.checkpoints.redo()[0] == "tool-2"
    assert content("a") == "new\n"


def test_what_a_person_writes_during_a_trial_stays(workspace):
    with workspace.trial("tool") as trial:
        trial.apply(BAD)
        Path("mine").write_text("mine")
        Path("c").write_text("mine too")
    assert (content("a"), content("c"), content("mine")) == ("old", "mine too", "mine")
    assert trial.put_back.edited == ("c",)


def test_the_build_script_is_protected_unless_the_caller_allows_it(workspace, small_project):
    with pytest.raises(ChangeSetRefused, match=r"build\.sh"):
        attempt(workspace, [Change("build.sh", b"exit 0\n")])
    workspace.close()
    allowed = Workspace.open(
        small_project,
        writes=True,
        private_folder="agent-config",
        sandbox=OFF,
        may_change_build_script=True,
    )
    with allowed:
        attempt(allowed, [Change("build.sh", b"exit 0\n")])
    assert content("build.sh") == "exit 0\n"


def test_a_workspace_for_reading_has_no_trial(small_project):
    with (
        Workspace.open(small_project, writes=False, private_folder="agent-config") as workspace,
        pytest.raises(NotReady, match="reading only"),
        workspace.trial("tool"),
    ):
        pass


@pytest.mark.parametrize(("build", "left"), [("true\n", "hello\n"), ("false\n", None)])
def test_the_readme_works_as_printed(small_project, build, left):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (small_project / "build.sh").write_text(build)
    (small_project / "old.txt").write_text("old")
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['code_commit'] = None\n{code}"],
        cwd=small_project,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"},
        check=True,
    )
    greeting = small_project / "greeting.txt"
    assert (greeting.read_text() if greeting.exists() else None) == left
    assert (small_project / "old.txt").exists() == (left is None)
