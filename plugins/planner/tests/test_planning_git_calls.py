"""A cycle of planning starts git only where an answer can have changed."""

from __future__ import annotations

from code_commit_testing.git_calls import install_git_listener, lasting_git_calls

HEAD = ["rev-parse"]
CHECKED = ["check-ignore"]
# A look at the files that finds changes, and what the agents changed until then.
LOOK = ["ls-files", "update-index", "write-tree"]
WORK = ["ls-files", *CHECKED, "diff-tree"]
CALLS = {
    "branch": ["config", "ls-files", *HEAD],
    # The first look at all files.
    "requirements": ["var", "status", *CHECKED, *LOOK],
    # The tag and the line of the history, in one change; when the planner begins; what it writes.
    "approval": [*CHECKED, *LOOK, *CHECKED],
    "review": [
        *(*HEAD, "diff", "ls-files", "status"),  # what is staged, overlooked and dirty
        *(*CHECKED, *LOOK, *CHECKED),  # the start; the summary
        *(*HEAD, *LOOK, *CHECKED, *HEAD),  # the player writes todos and a file
        *(*LOOK, *WORK, "ls-files", *HEAD),  # the coach
        *(*CHECKED, *LOOK, *WORK),  # the new names; the changes for the message
        *(*HEAD, "diff", "status", "add"),
        *(*HEAD, *WORK),  # who wrote what
        *("diff", "config"),
    ],
    "next": [*CHECKED, "status", "add", "diff", "show", "commit", *HEAD],
    "end": [*LOOK, "diff-tree"],  # what git changed, and what the run did
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
