"""Pipes, huge sparse files and a git that hangs: every command ends in time, with one clear line
and the right code.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, ScriptedServer

KEY = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q"}
FILES = {"a.txt": "old\n", "b.txt": "own\n", "d/c.txt": "deep\n"}
REPLY = "^^^a.txt\nnew\n^^^end\n"
COMMIT = ("--model", "gpt-5", "--repairs", "0")
TERABYTE = 1024**4


def created(tmp_path: Path, build: str = "exit 0") -> Project:
    return Project.create(
        tmp_path, files=FILES, build=f"{build}\n", gitignore="/agent-config\n/logs\n*.o\n"
    )


def commit(project: Project, *flags: str) -> Finished:
    with ScriptedServer([REPLY] * 2) as server:
        return project.command(*COMMIT, *flags, environ={**KEY, **server.environment()}, timeout=60)


def error_of(finished: Finished) -> str:
    return next((line for line in finished.stderr.splitlines() if line.startswith("error: ")), "")


@pytest.mark.parametrize("name", [".gitattributes", ".gitmodules", "d/.gitignore", ".git/index"])
def test_a_pipe_where_git_reads_is_named(tmp_path, name):
    project = created(tmp_path)
    assert commit(project).exit_code == 0
    (project.root / name).unlink(missing_ok=True)
    os.mkfifo(project.root / name)
    expected = (
        f"error: {project.root / name} is a named pipe, not a file: git would wait for it forever"
    )
    for command in ("rollup", "undo") if name != "d/.gitignore" else ("rollup",):
        finished = project.command(command, timeout=60)
        assert (finished.exit_code, error_of(finished)) == (3, expected), command
    finished = commit(project)
    assert (finished.exit_code, error_of(finished)) == (3, expected)
    assert "is a named pipe" in project.command("doctor", timeout=60).stdout


@pytest.mark.parametrize("mode", ["auto", "off"])
@pytest.mark.parametrize("name", ["d/.gitattributes", "d/.gitignore", "d/.git/HEAD"])
def test_a_pipe_that_an_earlier_build_left_is_named_before_a_call(tmp_path, name, mode):
    project = created(tmp_path)
    (project.root / name).parent.mkdir(exist_ok=True)
    os.mkfifo(project.root / name)
    with ScriptedServer([REPLY]) as server:
        finished = project.command(
            *COMMIT, "--sandbox", mode, environ={**KEY, **server.environment()}, timeout=60
        )
    assert (finished.exit_code, len(server.requests)) == (3, 0)
    assert error_of(finished).startswith(f"error: {project.root / name} is a named pipe")


def test_a_pipe_in_a_folder_of_borrowed_objects_is_named_where_git_reads_it(tmp_path):
    project = created(tmp_path)
    objects, borrowed = project.root / ".git/objects", tmp_path / "borrowed"
    objects.rename(borrowed)
    for path in [candidate for candidate in borrowed.rglob("*") if candidate.is_file()]:
        path.unlink()
        os.mkfifo(path)
    (objects / "info").mkdir(parents=True)
    (objects / "info/alternates").write_text(f"{borrowed}\n")
    assert commit(project).exit_code == 0, "nothing reads them"
    finished = project.command("undo", timeout=60)
    assert finished.exit_code == 3
    assert f"{borrowed}/" in error_of(finished)
    assert "is a named pipe" in error_of(finished)


def test_a_pipe_that_git_does_not_read_is_in_nobodys_way(tmp_path):
    project = created(tmp_path)
    (project.root / "cache.o").mkdir()
    for name in ("d/.git", "cache.o/.gitignore", "d/pipe"):
        os.mkfifo(project.root / name)
    assert commit(project).exit_code == 0


@pytest.mark.parametrize("name", [".gitattributes", ".gitignore"])
def test_a_pipe_that_a_build_planted_fails_the_attempt(tmp_path, name):
    project = created(tmp_path, f"mkfifo d/{name}; echo new > d/c.txt")
    finished = commit(project)
    assert finished.exit_code == 1
    assert f"d/{name} (was a named pipe)" in error_of(finished)
    assert not (project.root / "d" / name).exists()
    assert project.command("undo").exit_code == 0
    assert project.read("a.txt") == "old\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "hangs_at"),
    [(["undo"], "cat-file"), (["redo"], "cat-file"), (["doctor"], "ls-files")],
)
def test_a_git_that_hangs_ends_with_the_command(tmp_path, words, hangs_at, number):
    project = created(tmp_path)
    assert commit(project).exit_code == 0
    started, tools = tmp_path / "started", tmp_path / "tools"
    os.mkfifo(started)
    tools.mkdir()
    git = tools / "git"
    hang = f"echo $$ > {started}; trap '' TERM; while :; do sleep 60; done"
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *{hangs_at}*) {hang};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    environ = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    if words == ["redo"]:
        assert project.command("undo").exit_code == 0
    with project.start(*words, environ=environ, stdin=subprocess.DEVNULL) as process:
        hanging = int(started.read_text())
        begin = time.monotonic()
        process.send_signal(number)
        _, stderr = process.communicate(timeout=30)
        assert time.monotonic() - begin < 1.5
    assert (process.returncode, stderr.decode().splitlines()[-1]) == (130, "error: interrupted")
    with pytest.raises(ProcessLookupError):
        os.kill(hanging, 0)


def test_a_sparse_terabyte_takes_neither_time_nor_disk(tmp_path):
    project = created(tmp_path, f"truncate -s {TERABYTE} b.txt huge.bin")
    begin = time.monotonic()
    finished = commit(project)
    assert finished.exit_code == 0
    assert (
        "too large to save, so `undo` cannot bring it back: b.txt (1,099,512 MB), huge.bin"
        in finished.stderr
    )
    undone = project.command("undo", "--json").document
    assert (undone["restored"], undone["left"]) == (["a.txt"], ["b.txt"])
    assert (
        (project.root / "huge.bin").stat().st_size
        == (project.root / "b.txt").stat().st_size
        == TERABYTE
    )
    redone = project.command("redo")
    assert (redone.exit_code, project.read("a.txt")) == (0, "new\n")
    assert time.monotonic() - begin < 60
    stored = (path.lstat() for path in (project.root / "agent-config").rglob("*"))
    assert sum(status.st_size for status in stored) < 4 * 1024 * 1024


def test_the_limits_are_settings(tmp_path):
    project = created(tmp_path, "truncate -s 3M new.bin")
    project.write({"agent-config/config.toml": "store.max_file = 2097152\n"})
    assert "cannot bring it back: new.bin (3 MB)" in commit(project).stderr
    assert project.command("undo").exit_code == 0
    assert (project.root / "new.bin").exists()
    project.write({"agent-config/config.toml": "store.max_total = 5\n"})
    assert "store.max_total should be greater than or equal to 67108864" in commit(project).stderr
