"""A run starts git only where an answer can have changed: each process takes time when the build is
quick.
"""

from __future__ import annotations

from importlib.util import find_spec
from itertools import groupby, pairwise

import pytest

from code_commit_testing import install_plugin

LISTENER = """
import sys
from code_commit.plugin_api import hookimpl
from code_commit_workspace.git.process import command_of

def look(event, given):
    if event == "subprocess.Popen" and str(given[0]).endswith("/git"):
        for_sinks = {"--src-prefix=", "diff-tree"} & set(given[1])
        with open("logs/git", "a") as file:
            print("" if for_sinks else command_of(given[1][1:]), file=file)

@hookimpl
def code_commit_secrets():
    return []

sys.addaudithook(look)
"""
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


def lasting(calls: list[str]) -> list[str]:
    """Leave out what depends on the second of a look: a call again, and the check of files that
    were changed within it.
    """
    different = [call for call, _ in groupby(calls)]
    return [
        call
        for before, call in pairwise(["", *different])
        if (before, call) != ("diff-files", "check-ignore")
    ]


@pytest.mark.parametrize(
    "answer",
    [
        "^^^a.txt\ngood\n^^^end\n^^^new.txt\n^^^end\n",
        "^^^a.txt\ngood\n^^^end\n^^^old.txt\n^^^delete\n",
    ],
)
def test_git_runs_only_where_its_answer_can_have_changed(change, answer):
    install_plugin(change.plugins, "listener", LISTENER)
    log = change.project.root / "logs/git"
    for look in (FIRST, SECOND):
        change.project.write({"logs/git": "", "a.txt": "bad\n", "old.txt": "x\n"})
        change.project.write(
            {"agent-config/codeRollup.txt": "--- a.txt ---\nbad\n--- old.txt ---\nx\n"}
        )
        assert change([answer], *WITHOUT_CHECKS).exit_code == 0
        calls = lasting(log.read_text().split())
        assert calls == [*BEGIN, *CHECK, *look, *APPLIED, *MEANWHILE, *BUILT]
