"""A run starts git only where an answer can have changed: each process takes time when the build is
quick.
"""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from code_commit_testing.git_calls import install_git_listener, lasting_git_calls

BEGIN = ["config"]  # git's settings; then what it tracks of agent-config, and a look
LOOK = ["ls-files", "update-index", "write-tree"]  # while the model answers, and after the build
CHECK = ["check-ignore"]  # of the response
DIFF = ["diff-tree"]  # of the response for log sinks, or else of the run at its end
END = [*DIFF, *LOOK] if find_spec("code_commit_report") else [*LOOK, *DIFF]
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
    for _ in range(2):
        change.project.write({"logs/git": "", "a.txt": "bad\n", "old.txt": "x\n"})
        change.project.write(
            {"agent-config/codeRollup.txt": "--- a.txt ---\nbad\n--- old.txt ---\nx\n"}
        )
        assert change([answer], *WITHOUT_CHECKS).exit_code == 0
        calls = lasting_git_calls(log.read_text().split())
        assert calls == [*BEGIN, *LOOK, *CHECK, *END]
