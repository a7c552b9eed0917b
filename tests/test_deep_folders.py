"""Folders nested deeper than Python recurses, in a project and in what builds leave behind, hinder
no command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_workspace import remove_tree

DEPTH, DEEPER = 500, 1000  # for what takes two frames or one for a folder
MAKE = """
import os, sys
here = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(%d):
    os.mkdir("d", dir_fd=here)
    here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
    os.close(above)
os.close(os.open("x.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
"""


def make_deep(folder: Path, depth: int = DEPTH) -> None:
    subprocess.run([sys.executable, "-c", MAKE % depth, str(folder)], check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a temporary folder that is gone after the test: pytest itself cannot remove what is
    this deep.
    """
    folder = tmp_path / "made"
    folder.mkdir()
    yield folder
    remove_tree(folder)


@pytest.fixture
def server() -> Iterator[dict[str, str]]:
    with ScriptedServer([Reply("^^^a.txt\ngood\n^^^end\n")] * 3) as scripted:
        yield {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **scripted.environment()}


@pytest.mark.slow  # six commands; the others prove that no step recurses
def test_a_deep_project_is_changed_replayed_and_restored(
    folder: Path, server: dict[str, str]
) -> None:
    project = Project.create(folder)
    make_deep(project.root)
    project.git("add", "-A")
    scratch = folder / "scratch"
    scratch.mkdir()
    environ = {**server, "TMPDIR": str(scratch)}
    commands = (
        ["rollup"],
        ["--model=gpt-5"],
        ["replay", "latest"],
        ["undo"],
        ["init"],
        ["runs", "prune", "--keep=0"],
    )
    for command in commands:
        finished = project.command(*command, environ=environ)
        assert finished.exit_code == 0, (command, finished.stderr)
    assert not list(scratch.glob("code-commit-replay-*"))


def test_a_file_that_a_build_made_a_deep_folder_is_named(
    folder: Path, server: dict[str, str]
) -> None:
    project = Project.create(
        folder, build=f"rm a.txt; mkdir a.txt; python3 -c '{MAKE % DEPTH}' a.txt\n"
    )
    finished = project.command("--model=gpt-5", environ=server)
    assert (finished.exit_code, (project.root / "a.txt").is_dir()) == (0, True), finished.stderr
    undone = project.command("undo")
    assert (undone.exit_code, "same places: a.txt\n" in undone.stderr) == (3, True)
    forced = project.command("undo", "--force")
    assert forced.exit_code == 3
    assert "cannot be changed: it is a folder that contains" in forced.stderr


def test_what_a_build_leaves_in_its_private_folders_is_removed(
    folder: Path, server: dict[str, str]
) -> None:
    """Also folders that their owner may not open, at any depth."""
    project = Project.create(
        folder, build=f"python3 -c '{MAKE % DEEPER}' /tmp; chmod 0 /tmp/d/d/d/d; chmod 0 /tmp/d\n"
    )
    cache = folder / "cache"
    for _ in range(2):
        finished = project.command(
            "--model=gpt-5", environ={**server, "XDG_CACHE_HOME": str(cache)}
        )
        assert "error: internal" not in finished.stderr, finished.stderr
        project.write({"a.txt": "old\n"})
    assert not list(cache.rglob("run-*/*")), list(cache.rglob("run-*"))


def test_a_planted_journal_is_removed(folder: Path, server: dict[str, str]) -> None:
    project = Project.create(folder)
    for stage in ("staging", "done"):
        planted = project.root / "agent-config/.code-commit/journal" / stage
        planted.mkdir(parents=True)
        make_deep(planted, DEEPER)
    finished = project.command("--model=gpt-5", environ=server)
    assert finished.exit_code == 0, finished.stderr
    assert os.listdir(project.root / "agent-config/.code-commit/journal") == []  # noqa: PTH208 - names are enough
