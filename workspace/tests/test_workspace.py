"""The one way into a project folder, as another program uses it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from code_commit_workspace import (
    Change,
    ChangeSetRefused,
    NotReady,
    Protected,
    Refusal,
    SandboxSettings,
    Workspace,
)

OFF = SandboxSettings(mode="off")

README = Path(__file__).parents[1] / "README.md"
EXAMPLE = Path(__file__).parents[2] / "examples/workspace/apply_changes.py"


@pytest.fixture
def root(small_project):
    return small_project


def git(root, *arguments):
    subprocess.run(["git", *arguments], cwd=root, check=True)


def test_a_change_is_checked_applied_built_and_taken_back(root, tmp_path):
    with Workspace.open(root, writes=True, private_folder="agent-config", sandbox=OFF) as workspace:
        changes = [Change("./a", b"new"), Change("b", None)]
        assert workspace.check(changes) == ()
        assert "-old" in workspace.diff(changes)
        run = workspace.begin("run")
        assert workspace.apply(changes, run=run).differences.keys() == {"a", "b"}
        assert (workspace.tree.read("a"), workspace.tree.read("b")) == (b"new", None)
        assert workspace.run_build(log=tmp_path / "log", timeout=60).passed
        assert workspace.files() == (".gitignore", "a", "build.sh")
        assert workspace.store.undo(None).paths == ("a", "b")
        assert workspace.tree.read("b") == b"old"


def test_a_change_that_is_refused_changes_nothing(root):
    class NoB:
        name = "no-b"

        def judge(self, changes, tree):
            return [
                Refusal(change.path, self.name, "b is mine")
                for change in changes
                if change.path == "b"
            ]

    with Workspace.open(
        root, writes=True, private_folder="agent-config", protected=[Protected("build.sh")]
    ) as workspace:
        run = workspace.begin("run")
        for path in (".git/config", "build.sh", "../a", "agent-config/x"):
            with pytest.raises(ChangeSetRefused, match="refused"):
                workspace.apply([Change("a", b"new"), Change(path, b"")], run=run)
        assert workspace.rule_traces == []
        rules = [("some-plugin", NoB())]
        with pytest.raises(ChangeSetRefused, match="b is mine"):
            workspace.apply([Change("a", b"new"), Change("b", b"")], rules, run=run)
    assert (root / "a").read_text() == "old"


def test_in_the_sandbox_its_own_names_count_too(bubblewrap, root, tmp_path):
    (root / ".gitignore").write_text("/.tool\n")
    (root / ".tool").mkdir()
    (root / ".tool/key").write_text("hidden")
    (root / "make.sh").write_text("cat .tool/key; echo x > make.sh; echo $PWD\n")
    own = {"private_folder": ".tool", "state_folder": ".tool/state", "build_script": "make.sh"}
    with Workspace.open(root, writes=True, **own) as workspace:
        workspace.look_ahead()
        assert (workspace.sandbox_warning(), workspace.sandbox_in_use) == ("", "bubblewrap")
        result = workspace.run_build(log=tmp_path / "log", timeout=60)
        assert result.output.endswith(f"\n{root}\n".encode())
        assert (b"hidden" in result.output, result.tampered) == (False, ())
        folders = workspace._runner._sandbox._folders.temporary
        assert Path(folders).is_dir()
    assert not Path(folders).parent.exists()


def test_where_no_sandbox_works_it_is_told_once(root, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in ("git", "bash", "grep"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with Workspace.open(root, writes=False, private_folder="agent-config") as workspace:
        workspace.look_ahead()
        assert workspace.sandbox_warning().startswith(
            "no sandbox: bubblewrap (bwrap) is not installed; builds and"
        )
        assert (workspace.sandbox_warning(), workspace.sandbox_in_use) == ("", "off")
        assert workspace.run_build(log=tmp_path / "log", timeout=60).exit_code == 1
        assert workspace.run_command(
            ["grep", "x"], log=tmp_path / "log", timeout=60, stdin=b"x"
        ).passed
        for run in (
            workspace.start_process,
            partial(workspace.run_command, log=tmp_path / "no", timeout=60),
        ):
            with pytest.raises(
                NotReady, match="commands that a model chooses only run in the sandbox: "
            ) as caught:
                run(["true"], isolation_required=True)
            assert (
                caught.value.hint
                == "install bubblewrap, or pass --sandbox off to run them with your rights"
            )
        assert not (tmp_path / "no").exists()
    with Workspace.open(
        root, writes=False, private_folder="agent-config", sandbox=SandboxSettings(mode="require")
    ) as workspace:
        with pytest.raises(NotReady, match="not installed") as caught:
            workspace.look_ahead()
        assert caught.value.hint == "install bubblewrap, or pass --sandbox auto or off"
        assert workspace.sandbox_warning() == ""


def test_what_checks_a_project_in_a_larger_repository_lies_above_it(root, tmp_path):
    (root / "sub/deep").mkdir(parents=True)
    (root / "sub/deep/build.sh").write_text(
        "for each in ../../.gitignore ../.gitignore ../../.git/config ../a; do echo >> $each; done\n"
    )
    for name in ("sub/.gitignore", "sub/a"):
        (root / name).touch()
    with Workspace.open(
        root / "sub/deep", writes=True, private_folder="agent-config", sandbox=OFF
    ) as workspace:
        tampered = workspace.run_build(log=tmp_path / "log", timeout=60).tampered
    assert tampered == tuple(
        str(root / name) for name in (".git/config", ".gitignore", "sub/.gitignore")
    )


def test_a_build_needs_no_repository(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/build.sh").write_text("echo made\n")
    with Workspace.open(
        tmp_path / "p",
        writes=False,
        private_folder="agent-config",
        repository="optional",
        sandbox=OFF,
    ) as workspace:
        assert workspace.run_build(log=tmp_path / "log", timeout=60).output == b"made\n"
        with pytest.raises(NotReady, match="is not in a git repository") as caught:
            workspace.files()
    assert caught.value.hint == "run `git init` there"


def test_what_is_left_out_of_the_files_has_a_reason(root):
    (root / "link").symlink_to("a")
    with Workspace.open(root, writes=False, private_folder="agent-config") as workspace:
        files, refused = workspace.select(["!b", "a", "link", "build.sh"], among=workspace.listed())
    assert (files, list(refused)) == (("a", "build.sh"), ["link"])
    assert str(refused["link"]) == "link: It is a symbolic link; only regular files can be read."


def test_a_log_in_the_state_folder_is_not_the_work_of_the_process(root):
    with Workspace.open(root, writes=True, private_folder="agent-config", sandbox=OFF) as workspace:
        log = workspace.state("example") / "build.txt"
        second_file = workspace.state("example") / "other.txt"

        assert workspace.run_command(["true"], log=log, timeout=60).tampered == ()
        tampered = workspace.run_command(["touch", str(second_file)], log=log, timeout=60).tampered

    assert tampered == (second_file.relative_to(root).as_posix(),)


@pytest.mark.parametrize(
    ("content", "code", "left"), [(b"new\n", 0, "new\n"), (b"other\n", 1, "old")]
)
def test_the_example(root, content, code, left):
    """As in an environment that has this distribution alone."""
    probe = """\
import sys

sys.modules["code_commit"] = None
sys.argv = sys.argv[1:]
exec(open(sys.argv[0]).read())
"""
    completed = subprocess.run(
        [sys.executable, "-c", probe, str(EXAMPLE), str(root), "a"],
        input=content,
        capture_output=True,
        check=False,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert completed.returncode == code, completed.stderr.decode()
    assert (root / "a").read_text() == left
    assert (b"the build failed" in completed.stderr) == bool(code)


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
    with Workspace.open(
        small_project, writes=True, private_folder=".my-tool", sandbox=OFF
    ) as workspace:
        if left:
            assert workspace.store.undo(None).paths == ("greeting.txt", "old.txt")
        else:
            with pytest.raises(NotReady, match="changed nothing"):
                workspace.store.undo(None)
    assert (small_project / "old.txt").read_text() == "old"
