"""A cycle of planning starts git only where an answer can have changed."""

from __future__ import annotations

from code_commit_testing.git_calls import install_git_listener, lasting_git_calls

HEAD = ["rev-parse"]
CHECKED = ["check-ignore"]
# A person may have changed files before a change. After it, there is a checkpoint.
LOOK = ["ls-files", "diff-files"]
SAVED = ["update-index", "write-tree"]
CHANGED = [*LOOK, *SAVED]
TOOL = [*CHECKED, *CHANGED]
# What the agents changed: the checkpoints, and the trees of before and after.
WORK = ["for-each-ref", "cat-file", "ls-files", *CHECKED, *SAVED, *SAVED]
CALLS = {
    "branch": ["config", "ls-files", *HEAD],
    # The first look at all files; later ones ask what was changed.
    "requirements": ["var", "status", *CHECKED, "ls-files", *SAVED, "rev-list", *SAVED],
    # The tag and the line of the history, in one change; the planner writes; what it dropped.
    "approval": [*CHECKED, *CHANGED, *TOOL, *CHECKED, *CHANGED],
    "review": [
        *(*HEAD, "diff", "ls-files", "status"),  # what is staged, overlooked and dirty
        *(*CHECKED, *CHANGED, *LOOK, *CHECKED, *CHANGED),  # the start; the summary
        *(*HEAD, *TOOL, *TOOL, *HEAD),  # the player writes todos and a file
        *(*LOOK, *WORK, *HEAD),  # the coach
        *(*CHECKED, *CHANGED),  # the new names
        *(*LOOK, *WORK),  # the changes for the message
        *(*HEAD, "diff", "status", "add"),
        # `add` may have made git delete objects: all files are looked at again.
        *(*HEAD, "rev-list", *LOOK, "ls-files", *WORK),  # who wrote what
        *("diff", "config", *LOOK, "config"),  # hooks may write files
    ],
    "next": [*CHECKED, *CHANGED, "status", "add", "diff", "show", "commit", *HEAD],
    "end": [],
}


def test_git_runs_only_where_its_answer_can_have_changed(codebase, tmp_path):
    log = tmp_path / "calls"
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    plugins = install_git_listener(tmp_path / "plugins", log)
    person = codebase.start(environ={"PYTHONPATH": str(plugins)})
    calls = {}
    for part, answer in zip(CALLS, ["yes", "", "yes", "commit", "quit"], strict=False):
        person.question()
        calls[part] = log.read_text().split()
        log.write_text("")
        person.says(answer)
    person.ends()
    ends = calls | {"end": log.read_text().split()}
    for part, expected in CALLS.items():
        assert lasting_git_calls(ends[part]) == lasting_git_calls(expected), part
