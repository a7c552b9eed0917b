"""The guard over collections of single paths, in the project that they were written for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.guard.guard import Guard
from code_commit_workspace.records import Change

CASES = Path(__file__).parent / "cases"
ROWS = [
    json.loads(line)
    for name in ("paths.jsonl", "paths.more.jsonl")
    for line in (CASES / name).read_text(encoding="utf-8").splitlines()
]
FILES = {
    "src/main.rs": "fn main(){}\n",
    "README.md": "r\n",
    "agent-config/openai-key.txt": "k\n",
    "build.sh": "#!/bin/sh\n",
    "full/deep/file.txt": "f\n",
    "nested/file.txt": "n\n",
}
LINKS = {
    "link-out": "../outside",
    "link-up": "..",
    "link-git": ".git",
    "link-cfg": "agent-config",
    "link-file-out.txt": "../outside/victim.txt",
    "link-build.sh.txt": "build.sh",
    "link-ignore.txt": ".gitignore",
    "chain1": "chain2",
    "chain2": "../outside",
    "loop": "loop",
    "dangling.txt": "../outside/created-by-attack",
    "dangling-dir": "../outside/nodir",
    "link-in": "src",
    "link-file-in.rs": "src/main.rs",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    top = tmp_path_factory.mktemp("cases")
    for folder in ("outside/a", "project/logs", "project/target", "project/sub", "project/empty"):
        (top / folder).mkdir(parents=True)
    (top / "outside/victim.txt").write_text("o\n")
    (top / "outside/hard.txt").write_text("h\n")
    root = top / "project"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / ".gitignore").write_bytes((CASES / "paths.gitignore").read_bytes())
    (root / "sub/.gitignore").write_bytes((CASES / "paths.sub.gitignore").read_bytes())
    for link, target in LINKS.items():
        (root / link).symlink_to(target)
    (root / "link-abs").symlink_to(root)
    (root / "hardlink.txt").hardlink_to(top / "outside/hard.txt")
    os.mkfifo(root / "a-fifo")
    here = Path.cwd()
    os.chdir(root)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a-socket")
    os.chdir(here)
    for repository in (root, root / "nested"):
        subprocess.run(["git", "init", "-q", repository], check=True)
    return root


@pytest.fixture(scope="module")
def guard(project, protected):
    with ProjectTree(project) as tree:
        yield Guard(tree, Git(project), protected)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row["path"])[1:41])
def test_every_case_gets_its_verdict_with_a_reason(guard, row):
    refusals = guard.check([Change(row["path"], b"content\n")])
    assert ("reject" if refusals else "allow") == row["expect"], (row["why"], refusals)
    for refusal in refusals:
        assert refusal.path == row["path"]
        assert refusal.then == ("repair" if refusal.rule == "portable-name" else "stop")
        assert refusal.reason.endswith(".")
        assert refusal.reason.isprintable()


@pytest.mark.parametrize("content", [b"", None], ids=["written", "deleted"])
def test_all_cases_together_get_the_same_verdicts(guard, content):
    rows = {row["path"]: row for row in ROWS}
    # What is allowed alone may still contradict another row: files in the way of folders are left
    # out.
    alone = [
        path
        for path in rows
        if not any(row.startswith(path.removeprefix("./") + "/") for row in rows)
    ]
    refused = {refusal.path for refusal in guard.check([Change(path, content) for path in alone])}
    assert refused == {path for path in alone if rows[path]["expect"] == "reject"}
