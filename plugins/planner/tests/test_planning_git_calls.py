"""A cycle of planning starts git only where an answer can have changed."""

from __future__ import annotations

from code_commit_testing import install_plugin

LISTENER = """
import os, sys
from code_commit.plugin_api import hookimpl
from code_commit_workspace.git.process import command_of

def look(event, given):
    if event == "subprocess.Popen" and str(given[0]).endswith("/git"):
        for_sinks = {"--src-prefix=", "diff-tree"} & set(given[1])
        with open(os.environ["GIT_CALLS"], "a") as file:
            print("" if for_sinks else command_of(given[1][1:]), file=file)

@hookimpl
def code_commit_secrets():
    return []

sys.addaudithook(look)
"""
HEAD = ["rev-parse"]
CHECKED = ["check-ignore"]
TOOL = ["check-ignore", "check-ignore"]  # checked, and again when applied
CHECKPOINT = ["ls-files", "update-index", "write-tree"]
# A person may have made files before a change. After it, there is a checkpoint.
CHANGED = ["ls-files", *CHECKPOINT]
# What the agents changed: a look for a person's changes, the checkpoints, the diff.
WORK = ["ls-files", "for-each-ref", "cat-file"]
TREES = ["update-index", "write-tree"] * 2
DELETED_TOO = ["ls-files", "ls-files", "update-index", "update-index", "write-tree"]
CALLS = {
    "branch": ["config", "ls-files", "rev-parse", *HEAD],
    "requirements": ["var", "var", "status", *CHECKED, *CHECKED, *CHECKPOINT, *CHECKPOINT],
    # The tag and the line of the history, in one change; the planner writes; what it dropped.
    "approval": [*CHECKED, *CHANGED, *TOOL, *CHANGED, *CHECKED, *CHANGED],
    "review": [
        *(*HEAD, "diff", "ls-files", "status"),  # what is staged, overlooked and dirty
        *(*CHECKED, *DELETED_TOO, "ls-files", *CHECKED, *CHANGED),  # the start; the summary
        *(*HEAD, *TOOL, *CHANGED, *TOOL, *CHANGED, *HEAD),  # the player writes todos and a file
        *(*WORK, "ls-files", "check-ignore", *TREES, *HEAD),  # the coach
        *(*CHECKED, *DELETED_TOO),  # the new names
        *(*WORK, "ls-files", *CHECKED, *TREES),  # the changes for the message
        *(*HEAD, "diff", "status", "add"),
        *(*HEAD, *WORK, "ls-files", *CHECKED, *TREES),  # who wrote what
        *("diff", "config", "ls-files", "config"),  # hooks may write files
    ],
    "next": [*CHECKED, *CHANGED, "status", "add", "diff", "show", "show", "commit", *HEAD],
    "end": [],
}


def test_git_runs_only_where_its_answer_can_have_changed(codebase, tmp_path):
    log = tmp_path / "calls"
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    plugins = install_plugin(tmp_path / "plugins", "listener", LISTENER)
    person = codebase.start(environ={"PYTHONPATH": str(plugins), "GIT_CALLS": str(log)})
    calls = {}
    for part, answer in zip(CALLS, ["yes", "", "yes", "commit", "quit"], strict=False):
        person.question()
        calls[part] = log.read_text().split()
        log.write_text("")
        person.says(answer)
    person.ends()
    ends = calls | {"end": log.read_text().split()}
    for part, expected in CALLS.items():
        assert ends[part] == expected, part
