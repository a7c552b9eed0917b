"""Programs planted in a repository, in a submodule and in the project's tools: no command of ours
runs any of them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from code_commit.plugin_api import ToolCall
from code_commit_testing import Finished, Project, Reply, ScriptedServer

KEY = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q"}
MODEL = ("--model", "gpt-5")
HOOKS = (
    *(
        "applypatch-msg",
        "commit-msg",
        "fsmonitor-watchman",
        "post-checkout",
        "post-commit",
        "post-index-change",
    ),
    *(
        "post-rewrite",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "prepare-commit-msg",
        "reference-transaction",
    ),
)
ATTRIBUTES = "* filter=planted diff=planted merge=planted\n*.lfs filter=lfs\n"


@dataclass(frozen=True)
class Planted:
    """A project whose git would run programs; each makes a file in `markers`."""

    project: Project
    markers: Path
    server: ScriptedServer

    def program(self, name: str) -> str:
        """Return a command for git that makes the marker `name`."""
        path = self.markers.parent / f"program-{name}"
        path.write_text(f"#!/bin/sh\ntouch '{self.markers / name}'\ncat\n", "utf-8")
        path.chmod(0o755)
        return str(path)

    def ran(self) -> list[str]:
        return sorted(path.name for path in self.markers.iterdir())

    def command(self, *arguments: str, **options: Any) -> Finished:
        venv = self.project.root / ".venv/bin"
        environ = {
            **KEY,
            **self.server.environment(),
            "PATH": f"{venv}{os.pathsep}{os.environ['PATH']}",
        }
        return self.project.command(*arguments, environ=environ, **options)

    def change_files(self) -> None:
        """Let git find changed files, whose content it has to read."""
        # As long as before.
        self.project.write({"a.txt": "own\n", "b.lfs": "own\n", "sub/f.txt": "two\n"})
        self.project.write(
            {"agent-config/codeRollup.txt": "--- a.txt ---\nown\n--- b.lfs ---\nown\n"}
        )


@pytest.fixture
def planted(tmp_path: Path) -> Iterator[Planted]:
    files = {"a.txt": "old\n", "b.lfs": "old\n", ".gitattributes": ATTRIBUTES}
    project = Project.create(tmp_path, files=files, gitignore="/agent-config\n/logs\n/.venv\n")
    markers = tmp_path / "markers"
    markers.mkdir()
    project.git("config", "user.name", "Author")
    project.git("config", "user.email", "author@example.org")
    with ScriptedServer() as server:
        planted = Planted(project, markers, server)
        add_submodule(planted)
        plant_in(project.root / ".git", planted, "main")
        for program in ("git", "bwrap", "gpg", "git-lfs"):
            tool = project.root / ".venv/bin" / program
            tool.parent.mkdir(parents=True, exist_ok=True)
            tool.symlink_to(planted.program(f"venv-{program}"))
        yield planted


def add_submodule(planted: Planted) -> None:
    """Add a submodule whose `.git` is a folder in the project: a command in the sandbox could have
    written it.
    """
    root = planted.project.root
    sub = root / "sub"
    sub.mkdir()
    (sub / "f.txt").write_text("one\n", "utf-8")
    environ = planted.project.environment()
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "sub")):
        subprocess.run(["git", *command], cwd=sub, env=environ, check=True)
    modules = '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n'
    planted.project.write({".gitmodules": modules})
    planted.project.git("add", "-A")
    planted.project.git("commit", "-qm", "with a submodule")
    plant_in(sub / ".git", planted, "sub")


def plant_in(git: Path, planted: Planted, where: str) -> None:
    """Fill a git folder with everything that could start a program."""
    program: Callable[[str], str] = lambda name: planted.program(f"{where}-{name}")  # noqa: E731
    included = git / "included"
    included.write_text(f'[filter "planted"]\n\tsmudge = {program("include")}\n', "utf-8")
    hooks = git / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in HOOKS:
        (hooks / hook).unlink(missing_ok=True)
        (hooks / hook).symlink_to(program(f"hook-{hook}"))
    settings = {
        **{
            f"core.{name}": program(name)
            for name in ("fsmonitor", "pager", "sshCommand", "editor", "askPass")
        },
        **{f"filter.planted.{name}": program(name) for name in ("clean", "process")},
        "filter.lfs.clean": program("lfs"),
        **{f"diff.planted.{name}": program(f"diff-{name}") for name in ("textconv", "command")},
        "diff.external": program("external"),
        "merge.planted.driver": program("merge"),
        "gpg.program": program("gpg"),
        "commit.gpgSign": "true",
        "credential.helper": program("credential"),
        "include.path": str(included),
        "includeIf.gitdir:**.path": str(included),
        "core.attributesFile": str(git / "more-attributes"),
        **{
            f"alias.{name}": f"!{program(f'alias-{name}')}"
            for name in ("diff", "status", "ls-files", "check-ignore")
        },
    }
    (git / "more-attributes").write_text("* filter=third\n", "utf-8")
    (git / "info").mkdir(exist_ok=True)
    (git / "info/attributes").write_text("* filter=second diff=planted\n", "utf-8")
    worktree = {
        f"filter.{name}.clean": program(f"worktree-{name}")
        for name in ("planted", "second", "third")
    }
    with (git / "config").open("a", encoding="utf-8") as file:
        file.write("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n")
    for name, values in (("config", settings), ("config.worktree", worktree)):
        for key, value in values.items():
            subprocess.run(["git", "config", "--file", str(git / name), key, value], check=True)


def leads_to(project: Project, link: Path) -> bool:
    """Return whether a folder that our git used for `project` was left behind."""
    try:
        return link.readlink() == project.root / ".git/objects"
    except OSError:
        return False  # that of another run, which has just ended


def called(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(f"call_{name}", name, arguments)


def test_what_is_planted_would_run(planted):
    planted.change_files()
    planted.project.git("status", "--porcelain")
    planted.project.git("add", "-A")
    assert {
        "main-fsmonitor",
        "main-hook-post-index-change",
        "sub-worktree-second",
        "main-worktree-second",
    } <= set(planted.ran())


def test_a_commit_run_and_its_undo_run_nothing(planted):
    planted.server.script(Reply("^^^a.txt\nnew\n^^^end\n^^^b.lfs\nnew\n^^^end\n"))
    planted.change_files()
    finished = planted.command(*MODEL)
    assert (finished.exit_code, planted.ran()) == (0, []), finished.stderr
    shown = planted.command("runs", "diff")
    assert "+new" in shown.stdout
    for command in (("check", "a.txt"), ("rollup",), ("runs", "diff", "--attempt=1"), ("undo",)):
        finished = planted.command(*command)
        assert (finished.exit_code, planted.ran()) == (0, []), finished.stderr
    assert planted.project.read("b.lfs") == "own\n"
    assert not [
        objects
        for objects in Path("/dev/shm").glob("code-commit-git-*/objects")
        if leads_to(planted.project, objects)
    ]


def test_the_agents_run_nothing(planted):
    planted.project.write({"requirements.md": "Change a.txt.\n"})
    planted.change_files()
    player = (
        called("write_file", path="a.txt", content="new\n"),
        called("write_file", path="b.lfs", content="new\n"),
    )
    planted.server.script(
        Reply(tool_calls=player),
        Reply(tool_calls=(called("final_output", summary="done"),)),
        Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
    )
    finished = planted.command("--autonomous", *MODEL)
    assert (finished.exit_code, planted.ran()) == (0, []), finished.stderr
    coach = planted.server.requests[-1].prompt
    assert "+new" in coach
    assert "changed: b.lfs" in coach
    assert "sub" not in coach.replace("submit", "")


def test_what_a_command_of_the_model_plants_does_not_run(planted):
    """In the home folder, without a sandbox, and in the submodule."""
    shell = (
        f"git config --global filter.late.clean '{planted.program('late')}'; echo '* filter=late' > .gitattributes; "
        f"git config --file sub/.git/config core.worktree /nowhere; echo own > a.txt; echo own > sub/f.txt"
    )
    planted.project.write({"requirements.md": "Change a.txt.\n"})
    planted.server.script(
        Reply(tool_calls=(called("shell", command=shell),)),
        Reply(tool_calls=(called("final_output", summary="done"),)),
        Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
    )
    finished = planted.command("--autonomous", *MODEL, "--sandbox=off")
    assert finished.exit_code == 0, finished.stderr
    assert "+own" in planted.server.requests[-1].prompt
    assert "late" not in planted.ran()


def without_the_filter_of_the_repository(planted):
    """A commit that needs it is refused: see below."""
    (planted.project.root / ".gitattributes").unlink()
    planted.project.git(
        "config", "--file", ".git/config.worktree", "--remove-section", "filter.planted"
    )
    planted.project.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false",
                        "commit", "-qam", "no attributes")  # fmt: skip
    for marker in planted.markers.iterdir():
        marker.unlink()


def test_a_run_that_commits_runs_nothing(planted):
    without_the_filter_of_the_repository(planted)
    planted.server.script(Reply("^^^a.txt\nnew\n^^^end\n^^^c.txt\nnew\n^^^end\n"))
    finished = planted.command("--commit", *MODEL)
    assert (finished.exit_code, planted.ran()) == (0, []), finished.stderr
    assert "the commit will skip" in finished.stderr
    assert "; committed as " in finished.stderr


def test_planning_commits_and_runs_nothing(planted):
    without_the_filter_of_the_repository(planted)
    planted.project.write({"g3-plan/new_requirements.md": "new, please\n"})
    planted.server.script(
        Reply(tool_calls=(called("write_file", path="g3-plan/new_requirements.md", content="{{CURRENT REQUIREMENTS}}\nNew.\n"),
                          called("final_output", summary="New."))),
        Reply("New."),
        Reply(tool_calls=(called("todo_write", content="- [x] new\n"), called("write_file", path="a.txt", content="new\n"))),
        Reply(tool_calls=(called("final_output", summary="done"),)),
        Reply(tool_calls=(called("final_output", summary="IMPLEMENTATION_APPROVED"),)),
        Reply("Write new\n\nIt is new."),
    )  # fmt: skip
    finished = planted.command(
        *("--planning", f"--codepath={planted.project.root}", *MODEL, "--sandbox=off"),
        stdin="yes\n\nyes\ncommit\nquit\n",
    )
    assert (finished.exit_code, planted.ran()) == (0, []), finished.stderr + finished.stdout
    log = ["git", "-c", "core.fsmonitor=false", "log", "-1", "--format=%s"]
    subject = subprocess.run(
        log, cwd=planted.project.root, capture_output=True, text=True, check=True
    ).stdout
    assert subject == "Write new\n"
