"""Staging, review and commit: which files go in, which stay out, and what happens to files staged
before.
"""

from __future__ import annotations

import os
import re

from code_commit_testing import Project, Reply

NEW = "g3-plan/new_requirements.md"
HOOKS = "[plugins.planner]\ncommit_hooks = true\n"


def test_files_are_staged_one_by_one(codebase, tmp_path):
    project = codebase.project
    codebase.write(NEW, "old words\n")
    codebase.write("gone.txt", "x\n")
    codebase.write("moved.txt", "moved\n" * 20)
    codebase.write("kept.log", "tracked\n")
    project.git("add", "gone.txt", "moved.txt", "kept.log")
    project.git("commit", "-qm", "more")
    strange = [
        "with blank.txt",
        "ünï.txt",
        'quo"te.txt',
        "-dash.txt",
        "line\nbreak.txt",
        ":(top)magic.txt",
        "st*r.txt",
        "sub/deep/a.py",
    ]
    temporary = [
        "x.log",
        "target/a",
        "node_modules/a",
        "a/__pycache__/m.pyc",
        ".venv/a",
        "b.tmp",
        "c.bak",
        ".DS_Store",
        # Fmt: skip.
        "Thumbs.db",
        "m.pyc",
        "tmp/a",
        "temp/a",
        ".pytest_cache/a",
        ".mypy_cache/a",
        ".ruff_cache/a",
        "a.py~",
    ]
    person = codebase.start()
    person.answers("yes")
    person.question()
    for path in [*strange, *temporary]:
        codebase.write(path, f"{path}\n")
    (project.root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x\n")
    codebase.write("kept.log", "changed\n")
    (project.root / "gone.txt").unlink()
    (project.root / "moved.txt").rename(project.root / "here.txt")
    # A repository of its own.
    Project.create(tmp_path / "inner").root.rename(project.root / "inner")
    person.says("")
    person.answers("yes", "commit")
    person.quits()
    committed = set(codebase.committed())
    plan = {path for path in committed if path.startswith("g3-plan/")}
    assert len(plan) == 3
    assert committed - plan == {
        *strange,
        "two.txt",
        "gone.txt",
        "moved.txt",
        "here.txt",
        "caf\udce9.txt",
    }
    assert "repositories inside this one):\n  inner/" in person.notices()
    assert {line[3:] for line in codebase.status()} == {"kept.log", "inner/", *temporary}


def test_a_quit_or_a_merge_at_the_review_writes_nothing_and_the_next_start_continues(
    codebase, to_review
):
    project = codebase.project
    codebase.write("theirs.txt", "staged\n")
    project.git("add", "theirs.txt")
    person = to_review(dirty=True)
    history = codebase.history
    assert "COMPLETED" not in history
    person.says("quit")
    assert person.ends()["exit_code"] == 0
    assert codebase.history == history
    assert codebase.subjects() == ["start"]
    files = codebase.plan_files()

    project.git("update-ref", "MERGE_HEAD", "HEAD")  # the state after `git merge --no-commit`
    assert codebase.start().ends()["exit_code"] == 3  # reported before any question
    project.git("update-ref", "-d", "MERGE_HEAD")
    person = codebase.start()
    person.answers("yes", "yes")
    assert "Please review the currently staged files" in person.question()
    assert person.states[-3:] == ["leftovers", "stage", "review"]
    project.git("update-ref", "MERGE_HEAD", "HEAD")
    person.says("commit")
    finished = person.ends()
    assert (finished["exit_code"], finished["summary"]) == (
        3,
        f"a merge is in progress in {project.root}",
    )
    assert (codebase.history, codebase.subjects()) == (history, ["start"])

    project.git("update-ref", "-d", "MERGE_HEAD")
    person = codebase.start()
    person.answers("yes", "yes", "continue")
    person.quits()
    assert codebase.plan_files() == files
    assert codebase.subjects() == ["Add a second file", "start"]
    assert "two.txt" in codebase.committed()
    assert codebase.status() == ["A  theirs.txt"]
    assert len(re.findall("COMPLETED REQUIREMENTS", codebase.history)) == 1
    assert len(codebase.cast.requests["message"]) == 1


def test_files_staged_before_the_work_are_kept_and_not_committed(codebase, to_review):
    project = codebase.project
    codebase.write("theirs.txt", "staged\n")
    codebase.write("one.txt", "staged\n")
    codebase.write("debug.log", "staged\n")
    project.git("add", "theirs.txt", "one.txt", "debug.log")
    codebase.write("theirs.txt", "staged, then changed\n")
    codebase.write("mine.txt", "not staged\n")
    before = project.git("diff", "--cached")
    codebase.write("planned.txt", "not yet staged\n")
    project.git("add", "--intent-to-add", "planned.txt")
    cast = codebase.cast
    cast.player[2:2] = [
        cast.writes("debug.log", "played\n"),
        cast.called("shell", command="git add two.txt"),
    ]
    person = to_review(dirty=True)
    person.says("commit")
    person.quits()
    committed = {path for path in codebase.committed() if not path.startswith("g3-plan/")}
    assert committed == {"two.txt", "mine.txt", "planned.txt"}  # with what the player staged
    assert project.git("diff", "--cached") == before
    assert codebase.read("theirs.txt") == "staged, then changed\n"


def test_staging_during_the_review_changes_the_commit(codebase, to_review):
    codebase.write("theirs.txt", "staged\n")
    codebase.project.git("add", "theirs.txt")
    codebase.write("x.log", "wanted\n")
    person = to_review(dirty=True)
    codebase.write("theirs.txt", "mine now\n")
    codebase.project.git("add", "-f", "x.log", "theirs.txt")
    codebase.project.git("reset", "-q", "two.txt")
    person.says("commit")
    person.quits()
    assert {path for path in codebase.committed() if not path.startswith("g3-plan/")} == {
        "x.log",
        "theirs.txt",
    }
    assert codebase.status() == ["?? two.txt"]


def test_an_empty_repository_works(codebase):
    project = codebase.project
    project.git("update-ref", "-d", "HEAD")
    project.git("rm", "-rq", "--cached", ".")
    codebase.write(NEW, "old words\n")
    person = codebase.start()
    person.answers("yes", "yes", "", "yes", "commit")
    person.quits()
    assert "- GIT HEAD (no commit yet)\n" in codebase.history
    assert codebase.subjects() == ["Add a second file"]
    assert {"two.txt", "one.txt", "build.sh"} <= set(project.git("ls-files").split("\n"))
    assert codebase.status() == []


def test_the_message_is_wrapped_and_in_utf_8_also_on_a_detached_head(codebase, to_review):
    codebase.project.git("checkout", "-q", "--detach")
    codebase.project.git("config", "i18n.commitEncoding", "latin1")
    codebase.cast.message = [
        Reply("# Füge `字` " + "hinzu " * 20 + "\n\n" + "Wörter und Worte, " * 30)
    ]
    person = to_review()
    person.says("commit")
    person.quits()
    lines = codebase.project.git("log", "-1", "--format=%B").rstrip("\n").split("\n")
    assert lines[0].startswith("Füge `字` hinzu ")
    assert lines[1] == ""
    assert len(lines) == 12
    assert all(len(line) <= 72 for line in lines)
    assert lines[-2].startswith("Requirements: completed_requirements_")
    assert lines[-1].startswith("Todo: completed_todo_")
    assert f"GIT COMMIT ({lines[0]})\n" in codebase.history
    assert "\nencoding " not in codebase.project.git("cat-file", "commit", "HEAD")
    assert codebase.subjects() == [lines[0], "start"]
    assert codebase.project.git("branch", "--show-current") == ""


def test_a_codebase_may_be_a_folder_of_its_repository(codebase):
    project = codebase.project
    codebase.write("sub dir/.gitignore", "/agent-config\n")
    codebase.write("sub dir/agent-config/config.toml", codebase.read("agent-config/config.toml"))
    codebase.write("other/file.txt", "x\n")
    project.git("add", "sub dir", "other")
    project.git("commit", "-qm", "more")
    codebase.write("sub dir/g3-plan/new_requirements.md", "old words\n")
    person = codebase.start(workflow=("--planning", f"--codepath={project.root}/sub dir"))
    person.answers("yes")
    person.question()
    codebase.write("other/file.txt", "changed above\n")
    person.says("")
    person.answers("yes", "commit")
    person.quits()
    committed = codebase.committed()
    assert {path for path in committed if "g3-plan" not in path} == {
        "other/file.txt",
        "sub dir/two.txt",
    }
    assert min(path for path in committed if "g3-plan" in path).startswith(
        "sub dir/g3-plan/completed_requirements_"
    )
    assert codebase.status() == []


def test_a_history_without_a_final_newline_keeps_all_lines(codebase):
    codebase.write(NEW, "old words\n")
    codebase.write("g3-plan/planner_history.txt", "by hand")
    codebase.project.git("add", "g3-plan/planner_history.txt")
    codebase.project.git("commit", "-qm", "by hand")
    person = codebase.start()
    person.answers("yes", "", "no")
    person.quits()
    assert codebase.history.startswith("by hand\n20")


def test_a_file_outside_a_sparse_checkout_is_staged(codebase, to_review):
    codebase.project.git("sparse-checkout", "set", "g3-plan")
    codebase.cast.player[1] = codebase.cast.writes("far/two.txt", "2\n")
    person = to_review()
    person.says("commit")
    person.quits()
    assert "far/two.txt" in codebase.committed()


def test_changes_that_git_overlooks_are_named(codebase, to_review):
    for name in ("mine.txt", "same.txt", "gone.txt"):
        codebase.write(name, "1\n")
    codebase.project.git("add", ".")
    codebase.project.git("commit", "-qm", "more")
    codebase.project.git("update-index", "--assume-unchanged", "one.txt", "same.txt", "mine.txt")
    codebase.project.git("update-index", "--skip-worktree", "gone.txt")
    codebase.write("mine.txt", "mine, from before the work\n")
    cast = codebase.cast
    cast.player[1:1] = [cast.writes("one.txt", "2\n"), cast.called("shell", command="rm gone.txt")]
    person = to_review()
    message = "because git is told to overlook their changes\n(`git update-index --no-FLAG FILE` ends that"
    assert message in person.notices()
    assert "\n  gone.txt (skip-worktree)\n  one.txt (assume-unchanged)\n" in person.notices()
    person.says("quit")
    person.ends()
    codebase.project.git("update-index", "--no-assume-unchanged", "one.txt")
    person = codebase.start()
    person.answers("yes", "yes", "commit")
    assert "):\n  gone.txt (skip-worktree)\n" in person.notices()
    person.quits()
    assert {path for path in codebase.committed() if not path.startswith("g3-plan/")} == {
        "two.txt",
        "one.txt",
    }


def test_large_files_are_committed_by_the_users_own_git_lfs(codebase, to_review, tmp_path):
    ran = tmp_path / "ran"
    for name, text in (("lfs", "sed 's/^/pointer to /'"), ("planted", "cat")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} >> '{ran}'\n{text}\n")
        (tmp_path / name).chmod(0o755)
    codebase.write(".gitattributes", "two.txt filter=lfs\n")
    codebase.project.git("add", ".gitattributes")
    codebase.project.git("commit", "-qm", "attributes")
    codebase.project.git("config", "--global", "filter.lfs.clean", str(tmp_path / "lfs"))
    codebase.project.git("config", "filter.lfs.clean", str(tmp_path / "planted"))
    person = to_review()
    person.says("commit")
    person.quits()
    assert codebase.project.git("show", "HEAD:two.txt") == "pointer to 2\n"
    assert set(ran.read_text().split()) == {"lfs"}
