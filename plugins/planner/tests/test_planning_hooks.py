"""Commits that a hook or a signature refuses: shown, repeated, offered at the next start, or
declined.
"""

from __future__ import annotations

import pytest

NEW = "g3-plan/new_requirements.md"
HOOKS = "[plugins.planner]\ncommit_hooks = true\n"


def hook(codebase, script):
    path = codebase.project.root / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    executable(path, script)


def executable(path, script):
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


def test_a_commit_that_a_hook_or_a_signature_refuses_can_be_repeated(codebase, to_review):
    codebase.write("agent-config/config.toml", codebase.read("agent-config/config.toml") + HOOKS)
    hook(codebase, "test -e fixed && exit 0\necho 'the hook says no' >&2\nexit 1\n")
    codebase.project.git("config", "--global", "commit.gpgSign", "true")
    gpg = codebase.project.home / "gpg"
    codebase.project.git("config", "--global", "gpg.program", str(gpg))
    executable(gpg, "exit 1\n")
    person = to_review()
    person.says("commit")
    assert person.question() == "Commit now? [yes/no/diff/edit/back/quit]"
    history = codebase.history
    assert history.endswith("- GIT COMMIT (Add a second file)\n")
    assert codebase.subjects() == ["start"]
    assert "two.txt" in codebase.staged()
    (codebase.project.root / ".git/fixed").touch()
    hook(codebase, "exit 0\n")
    person.says("yes")
    person.question()
    assert (
        "The commit was not made: `git commit` failed: error: gpg failed to sign the data"
        in person.notices()
    )
    executable(gpg, "cat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED \\n' >&2; echo signed\n")
    person.says("yes")
    person.quits()
    assert codebase.subjects() == ["Add a second file", "start"]
    assert codebase.history == history
    assert codebase.status() == []


@pytest.mark.slow
def test_a_failed_commit_is_offered_at_the_next_start(codebase, to_review):
    config = codebase.read("agent-config/config.toml")
    codebase.write("agent-config/config.toml", config + HOOKS)
    hook(codebase, "exit 1\n")
    person = to_review()
    person.says("commit")
    person.quits()
    codebase.write("agent-config/config.toml", config)
    person = codebase.start()
    person.answers("yes", "yes", "yes")
    person.quits()
    assert "commit failed" in person.states
    assert codebase.subjects() == ["Add a second file", "start"]
    assert codebase.status() == []
    assert codebase.history.count("GIT COMMIT") == 1


def test_a_failed_commit_is_offered_after_other_commits(codebase, to_review):
    project = codebase.project
    codebase.write("agent-config/config.toml", codebase.read("agent-config/config.toml") + HOOKS)
    hook(codebase, "exit 1\n")
    codebase.write("theirs.txt", "staged\n")
    project.git("add", "theirs.txt")
    person = to_review(dirty=True)
    person.says("commit")
    person.quits()
    hook(codebase, "exit 0\n")
    codebase.write("one.txt", "mended by hand\n")
    project.git("commit", "-qm", "by hand", "one.txt")
    person = codebase.start()
    person.answers("yes", "yes", "yes")
    person.quits()
    assert "commit failed" in person.states
    assert codebase.subjects() == ["Add a second file", "by hand", "start"]
    assert codebase.history.count("GIT COMMIT") == 1
    assert "two.txt" in codebase.committed()
    assert codebase.status() == ["A  theirs.txt"]


def test_the_files_of_a_declined_commit_go_into_the_next(codebase, to_review):
    config = codebase.read("agent-config/config.toml")
    codebase.write("agent-config/config.toml", config + HOOKS)
    hook(codebase, "exit 1\n")
    person = to_review()
    person.says("commit")
    person.answers("no")
    person.quits()
    codebase.write("agent-config/config.toml", config)
    codebase.write(NEW, "again\n")
    codebase.cast.planner = [
        codebase.cast.writes(NEW, "{{CURRENT REQUIREMENTS}}\nThree.\n"),
        codebase.cast.done(),
    ]
    codebase.cast.player = [
        codebase.cast.called("todo_write", content="- [x] three\n"),
        codebase.cast.writes("three.txt", "3\n"),
        codebase.cast.done(),
    ]
    person = codebase.start()
    person.answers("yes", "yes", "", "yes", "commit")
    person.quits()
    assert "commit failed" not in person.states
    assert {"two.txt", "three.txt"} <= set(codebase.committed())
    assert codebase.history.count("COMPLETED REQUIREMENTS") == 2
    assert codebase.status() == []


def test_hooks_that_a_model_can_write_are_refused_before_the_work(codebase):
    codebase.write("agent-config/config.toml", codebase.read("agent-config/config.toml") + HOOKS)
    codebase.project.git("config", "core.hooksPath", ".husky")
    completed = codebase.project.command("--planning", f"--codepath={codebase.project.root}")
    assert (completed.exit_code, "where a model can write" in completed.stderr) == (3, True)
    assert not codebase.cast.requests
