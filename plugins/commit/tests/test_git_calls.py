"""A run starts git only where an answer can have changed: each process takes time when the build is
quick.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from code_commit_testing.git_calls import install_git_listener, lasting_git_calls

# Git's settings, what it tracks of agent-config, uncommitted changes.
BEGIN = ["config", "ls-files", "diff"]
CHECK = ["check-ignore"]  # of the response, and again when it is applied
# The first run looks at all files, and whether git kept them; the second asks what was changed.
FIRST = ["ls-files", "update-index", "write-tree", "rev-list"]
SECOND = ["ls-files", "diff-files", "update-index", "write-tree"]
APPLIED = ["update-index", "write-tree"]
MEANWHILE = ["ls-files", "diff-files"]  # a person may have changed files
BUILT = ["ls-files", "diff-files"]  # the build may have changed files
# The acceptance checks, where they are installed, read the files of before.
WITHOUT_CHECKS = ["--disable-plugin", "acceptance"] if find_spec("code_commit_acceptance") else []


@pytest.mark.parametrize(
    "answer",
    [
        "^^^a.txt\ngood\n^^^end\n^^^new.txt\n^^^end\n",
        "^^^a.txt\ngood\n^^^end\n^^^old.txt\n^^^delete\n",
    ],
)
def test_git_runs_only_where_its_answer_can_have_changed(change, answer):
    log = change.project.root / "logs/git"
    install_git_listener(change.plugins, log)
    for look in (FIRST, SECOND):
        change.project.write({"logs/git": "", "a.txt": "bad\n", "old.txt": "x\n"})
        change.project.write(
            {"agent-config/codeRollup.txt": "--- a.txt ---\nbad\n--- old.txt ---\nx\n"}
        )
        assert change([answer], *WITHOUT_CHECKS).exit_code == 0
        calls = lasting_git_calls(log.read_text().split())
        assert calls == [*BEGIN, *CHECK, *look, *APPLIED, *MEANWHILE, *BUILT]
