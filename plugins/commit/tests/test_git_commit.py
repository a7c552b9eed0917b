"""`--commit`: one git commit of exactly what the run changed, or a clear refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from code_commit_commit.git_commit import commit_message

HOOKS = "[plugins.commit]\ncommit_hooks = true\n"


def block(path: str, content: str | None) -> str:
    return f"^^^{path}\n^^^delete\n" if content is None else f"^^^{path}\n{content}^^^end\n"


GOOD = block("a.txt", "good\n")


@pytest.fixture
def change(change):
    change.project.git("config", "--global", "user.name", "Ada")
    change.project.git("config", "--global", "user.email", "ada@example.org")
    return change


def committed(project) -> list[str]:
    names = project.git("show", "--format=", "--name-status", "--no-renames", "-z", "HEAD").split(
        "\0"
    )
    return [f"{state} {path}" for state, path in zip(names[::2], names[1::2], strict=False)]


def subjects(project) -> list[str]:
    return project.git("log", "--format=%s").splitlines()


def status(project) -> list[str]:
    return project.git("status", "--porcelain", "--untracked-files=all").splitlines()


def test_exactly_the_changed_files_are_committed(change):
    project = change.project
    names = ["new.txt", "with blank.txt", "ünï.txt", "-dash.txt", "[s]tar.txt", "sub/deep/a.py"]
    project.write(
        {"gone.txt": "x\n", "moved.txt": "moved\n" * 20, "star.txt": "x\n", "st*r.txt": "old\n"}
    )
    project.git("add", ".")
    project.git("commit", "-qm", "more")
    project.write(
        {"theirs.txt": "staged\n", "mine.txt": "not staged\n", "star.txt": "not staged\n"}
    )
    project.git("add", "theirs.txt")
    staged = project.git("diff", "--cached")
    change.show()
    answer = (
        GOOD
        + block("gone.txt", None)
        + block("moved.txt", None)
        + block("here.txt", "moved\n" * 20)
    )
    answer += block("st*r.txt", "new\n")
    finished = change([answer + "".join(block(name, "x\n") for name in names)], "--commit")
    assert finished.exit_code == 0, finished.stderr
    expected = [
        "M a.txt",
        "M st*r.txt",
        "D gone.txt",
        "D moved.txt",
        "A here.txt",
        *(f"A {name}" for name in names),
    ]
    assert sorted(committed(project)) == sorted(expected)
    assert project.git("diff", "--cached") == staged
    assert status(project) == [" M star.txt", "A  theirs.txt", "?? mine.txt"]
    commit_id = project.git("rev-parse", "HEAD").strip()
    assert change.result()["committed"] == commit_id
    assert f"committed as {commit_id[:12]} on " in finished.stderr
    assert (
        f"hint: `git show {commit_id[:12]}` shows it, `git revert {commit_id[:12]}` reverts it\n"
        in finished.stderr
    )


def test_the_message_names_query_run_and_model(change):
    query = "Let greet take\n  a list.\n\nDetails that the message leaves out."
    finished = change([GOOD], "--commit", "--json", "--query", query)
    run = change.project.run_folder.name
    expected = f"Let greet take\n\na list.\n\nCode-Commit-Run: {run}\nModel: scripted\n"
    message = change.project.git("log", "-1", "--format=%B")
    assert message.startswith(expected), "lines of acceptance checks may follow"
    assert change.project.git("log", "-1", "--format=%an <%ae>") == "Ada <ada@example.org>\n"
    end = finished.events[-1]["data"]["data"]
    assert end["committed"] == change.project.git("rev-parse", "HEAD").strip()
    assert json.loads((change.project.run_folder / "run.json").read_bytes())["data"] == end


@pytest.mark.parametrize(
    ("query", "subject", "body"),
    [
        ("Fix it", "Fix it", []),
        ("# Title\nwords\n\nmore", "Title", ["words"]),
        ("#\n", "Change the code", []),
        ("word " * 30, "word " * 13 + "word", ["word " * 13 + "word", "word word"]),
        ("x" * 80, "x" * 72, ["x" * 8]),
        ("Fix\x1b[31m it\u202e", "Fix\\x1b[31m it\\u202e", []),
        ("One\n" + "line\n" * 50, "One", ["line"] * 20),
    ],
    ids=["short", "heading", "no words", "long line", "long word", "hostile", "long paragraph"],
)
def test_the_subject_is_the_first_line_within_72_characters(query, subject, body):
    end = ["Code-Commit-Run: run", "Model: gpt-5", ""]
    assert commit_message(query, "run", "gpt-5").split("\n") == [
        subject,
        "",
        *([*body, ""] if body else []),
        *end,
    ]


@pytest.mark.parametrize(
    "before",
    [
        ("a.txt", "own\n", False),
        ("a.txt", "own\n", True),
        ("new.txt", "own\n", False),
        ("new.txt", "own\n", True),
    ],
    ids=["changed", "staged", "untracked", "staged and new"],
)
def test_a_file_with_changes_of_ones_own_is_not_committed(change, before):
    path, content, staged = before
    change.project.write({path: content})
    if staged:
        change.project.git("add", path)
    index = change.project.git("diff", "--cached")
    change.show()
    finished = change([GOOD + block("new.txt", "x\n")], "--commit")
    assert finished.exit_code == 1
    assert (
        f"nothing is committed: these files had uncommitted changes before the run: {path}\n"
        in finished.stderr
    )
    assert "files stay changed:\n    a.txt +1 -1\n    new.txt +1 -" in finished.stderr
    assert (
        "hint: to commit by hand: `git add -A -- a.txt new.txt`, then `git commit`; "
        in finished.stderr
    )
    assert (change.project.read("a.txt"), subjects(change.project)) == ("good\n", ["start"])
    assert change.project.git("diff", "--cached") == index
    change.project.git("add", "-A", "--", "a.txt", "new.txt")  # the hint works


def test_with_restore_a_change_that_is_not_committed_is_taken_back(change):
    change.project.write({"a.txt": "own\n"})
    change.show()
    finished = change([GOOD], "--commit", "--on-failure", "restore")
    assert (finished.exit_code, change.project.read("a.txt")) == (1, "own\n")
    assert "files stay changed" not in finished.stderr


def test_what_a_build_changes_is_not_in_the_commit_and_named(change):
    change.project.write(
        {"build.sh": "echo more >> other.txt; echo x > made.txt\n", "other.txt": "x\n"}
    )
    change.project.git("add", ".")
    change.project.git("commit", "-qm", "more")
    finished = change([GOOD], "--commit")
    assert committed(change.project) == ["M a.txt"]
    assert (
        "not committed, because no response changed them: made.txt, other.txt\n" in finished.stderr
    )
    assert status(change.project) == [" M other.txt", "?? made.txt"]


def test_what_a_build_formats_is_committed_as_it_is_on_disk(change):
    change.project.write({"build.sh": "echo formatted >> a.txt; chmod +x a.txt; rm -f new.txt\n"})
    change.project.git("commit", "-qam", "build")
    assert change([GOOD + block("new.txt", "x\n")], "--commit").exit_code == 0
    assert change.project.git("show", "HEAD:a.txt") == "good\nformatted\n"
    assert "mode change 100644 => 100755 a.txt" in change.project.git("show", "--summary", "HEAD")
    assert committed(change.project) == ["M a.txt"]


def test_a_build_that_takes_the_change_back_leaves_nothing_to_commit(change):
    change.project.write({"build.sh": "echo old > a.txt\n"})
    change.project.git("commit", "-qam", "build")
    finished = change([GOOD], "--commit")
    assert finished.exit_code == 1
    assert "nothing is committed: there is no difference from the last commit\n" in finished.stderr


@pytest.mark.parametrize("staged", [[], ["theirs.txt"]], ids=["", "others staged"])
@pytest.mark.parametrize(
    ("old", "new"), [("b", "b/c.txt"), ("b/c.txt", "b")], ids=["folder", "file"]
)
def test_a_file_and_a_folder_may_swap_places(change, old, new, staged):
    change.project.write({old: "x\n", "build.sh": "test -f b || touch b/other.o\n"})
    change.project.git("add", ".")
    change.project.git("commit", "-qm", "more")
    change.project.write(dict.fromkeys(staged, "staged\n"))
    change.project.git("add", ".")
    change.show()
    finished = change([block(old, None) + block(new, "x\n")], "--commit")
    assert finished.exit_code == 0, finished.stderr
    assert sorted(committed(change.project)) == sorted([f"D {old}", f"A {new}"])
    expected = [f"A  {path}" for path in staged]
    if new == "b/c.txt":
        expected.append("?? b/other.o")
    assert status(change.project) == expected


def test_below_the_top_of_the_repository_only_paths_of_the_project_are_committed(change):
    project, top = change.project, change.project.root.parent
    (project.root / ".git").rename(top / ".git")
    (top / "outside.txt").write_text("x\n")
    (top / ".gitignore").write_text("home/\nplugins/\nagent-config/\nlogs/\n")
    project.git("add", "-A", ".")
    project.git("commit", "-qm", "moved")
    finished = change([GOOD + block("sub/new.txt", "x\n")], "--commit")
    assert finished.exit_code == 0, finished.stderr
    assert committed(project) == [
        f"M {project.root.name}/a.txt",
        f"A {project.root.name}/sub/new.txt",
    ]


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_change_that_git_overlooks_is_not_committed(change, flag):
    change.project.git("update-index", flag, "a.txt")
    finished = change([GOOD + block("new.txt", "x\n")], "--commit")
    assert finished.exit_code == 1
    assert "nothing is committed: git is told to overlook changes of a.txt\n" in finished.stderr
    assert f"hint: `git update-index --no-{flag[2:]} -- a.txt` ends that" in finished.stderr
    assert subjects(change.project) == ["start"]


def test_a_detached_head_gets_a_commit(change):
    change.project.git("checkout", "-q", "--detach")
    assert " on a detached HEAD\n" in change([GOOD], "--commit").stderr
    assert committed(change.project) == ["M a.txt"]


def test_the_first_commit_holds_the_changed_files_alone(change):
    change.project.git("update-ref", "-d", "HEAD")
    change.project.git("rm", "-rq", "--cached", ".")
    finished = change([block("new.txt", "x\n") + block("a.txt", "good\n")], "--commit")
    assert (
        finished.exit_code,
        "had uncommitted changes before the run: a.txt" in finished.stderr,
    ) == (1, True)
    assert len(status(change.project)) == 4
    (change.project.root / "new.txt").unlink()
    finished = change([block("new.txt", "x\n")], "--commit")
    assert (finished.exit_code, subjects(change.project)) == (0, ["Change a.txt."])
    assert committed(change.project) == ["A new.txt"]


@pytest.mark.parametrize(
    ("operation", "reason"),
    [("merge", "a merge is in progress in"), ("rebase", "a rebase is in progress in")],
)
def test_an_unfinished_operation_is_seen_before_a_call(change, operation, reason):
    project = change.project
    project.git("checkout", "-qb", "other")
    project.write({"a.txt": "other\n"})
    project.git("commit", "-qam", "other")
    project.git("checkout", "-q", "-")
    project.write({"a.txt": "own\n"})
    project.git("commit", "-qam", "own")
    with pytest.raises(Exception, match="returned non-zero exit status"):
        project.git(operation, "other")
    finished = change([GOOD], "--commit")
    assert (
        finished.exit_code,
        (project.root / "logs").exists() and any(project.root.glob("logs/*/")),
    ) == (3, False)
    assert f"error: {reason}" in finished.stderr


def test_a_file_in_conflict_is_seen_before_a_call(change):
    project = change.project
    project.write({"a.txt": "stashed\n"})
    project.git("stash", "--quiet")
    project.write({"a.txt": "own\n"})
    project.git("commit", "-qam", "own")
    with pytest.raises(Exception, match="returned non-zero exit status"):
        project.git("stash", "pop")  # leaves a conflict, but no unfinished operation
    finished = change([GOOD], "--commit")
    assert (finished.exit_code, any(project.root.glob("logs/*/"))) == (3, False)
    assert (
        "error: not merged yet: a.txt\nhint: resolve the conflicts, then `git add` them\n"
        in finished.stderr
    )


def test_an_unknown_author_is_seen_before_a_call(change):
    change.project.git("config", "--global", "--unset", "user.name")
    change.project.git("config", "--global", "user.useConfigOnly", "true")
    finished = change([GOOD], "--commit")
    assert finished.exit_code == 3
    assert "error: git has no name or address for commits: " in finished.stderr
    assert (
        'hint: run `git config --global user.name "Your Name"` and `git config --global user.email'
        in finished.stderr
    )
    change.script([GOOD])
    who = {f"GIT_{each}_NAME": "Grace" for each in ("AUTHOR", "COMMITTER")}
    assert change.project.command("--commit", plugins=[change.plugins], environ=who).exit_code == 0
    assert (
        change.project.git("log", "-1", "--format=%an %cn <%ae>")
        == "Grace Grace <ada@example.org>\n"
    )


def hook(project, name: str, text: str) -> None:
    path = project.root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


def test_hooks_and_signatures_are_left_out_and_named(change):
    hook(change.project, "pre-commit", "exit 1\n")
    change.project.git("config", "--global", "commit.gpgSign", "true")
    finished = change([GOOD], "--commit")
    assert finished.exit_code == 0
    line = "the commit will skip the signature, the hook pre-commit: commit_hooks is off in [plugins.commit]\n"
    assert line in finished.stderr
    assert len(subjects(change.project)) == 2
    change.project.git("config", "core.hooksPath", ".husky")
    change.project.git("config", "commit.gpgSign", "false")
    assert (
        "will skip the hooks in the project: "
        in change([block("a.txt", "good, too\n")], "--commit").stderr
    )


@pytest.mark.parametrize("what", ["hook", "signature"])
def test_a_commit_that_git_refuses_leaves_the_index_as_it_was(change, what):
    project = change.project
    project.write({"theirs.txt": "x\n"})
    project.git("add", "theirs.txt")
    if what == "hook":
        hook(project, "pre-commit", "echo tests are red >&2; exit 1\n")
    else:
        project.git("config", "--global", "commit.gpgSign", "true")
        project.git("config", "--global", "gpg.program", "false")
    finished = change([GOOD + block("new.txt", "x\n")], "--commit", settings=HOOKS)
    assert finished.exit_code == 1
    assert ("tests are red" if what == "hook" else "gpg failed to sign the data") in finished.stderr
    assert "`git add -A -- a.txt new.txt`" in finished.stderr
    assert status(project) == [" M a.txt", "A  theirs.txt", "?? new.txt"]


def test_hooks_that_a_model_can_write_are_refused_before_a_call(change):
    change.project.git("config", "core.hooksPath", ".husky")
    finished = change([GOOD], "--commit", settings=HOOKS)
    assert (finished.exit_code, "where a model can write" in finished.stderr) == (3, True)


def test_large_files_go_through_the_users_own_git_lfs(change, tmp_path):
    program = Path(tmp_path / "lfs")
    program.write_text("#!/bin/sh\nsed 's/^/pointer to /'\n")
    program.chmod(0o755)
    change.project.write({".gitattributes": "*.bin filter=lfs\n"})
    change.project.git("add", ".gitattributes")
    change.project.git("commit", "-qm", "attributes")
    change.project.git("config", "--global", "filter.lfs.clean", str(program))
    assert change([GOOD + block("big.bin", "big\n")], "--commit").exit_code == 0
    assert change.project.git("show", "HEAD:big.bin") == "pointer to big\n"


def test_a_new_file_outside_of_a_sparse_checkout_is_committed(change):
    change.project.write({"out/x.txt": "x\n"})
    change.project.git("add", ".")
    change.project.git("commit", "-qm", "more")
    change.project.git("sparse-checkout", "set", "in")
    finished = change([GOOD + block("out/x.txt", "not seen\n")], "--commit")
    assert (finished.exit_code, "your sparse checkout leaves it out" in finished.stderr) == (
        5,
        True,
    )
    finished = change([GOOD + block("out/new.txt", "new\n")], "--commit")
    assert finished.exit_code == 0, finished.stderr
    assert committed(change.project) == ["M a.txt", "A out/new.txt"]
    assert change.project.git("ls-files").split() == [
        ".gitignore",
        "a.txt",
        "build.sh",
        "out/new.txt",
        "out/x.txt",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--commit"], ["--dry-run"]),
        (["--commit"], ["--no-commit"]),
        (["--query", "a"], ["--query-file", "a.txt"]),
    ],
)
def test_flags_that_contradict_are_a_usage_error(change, one, other):
    finished = change([GOOD], *one, *other)
    assert (finished.exit_code, f"{one[0]} cannot be used with {other[0]}" in finished.stderr) == (
        2,
        True,
    )


def test_the_setting_commits_unless_a_flag_says_no(change):
    settings = "[plugins.commit]\nauto_commit = true\n"
    change([GOOD], "--dry-run", settings=settings)
    assert change([GOOD], "--no-commit", settings=settings).exit_code == 0
    assert subjects(change.project) == ["start"]
    change.project.git("commit", "-qam", "by hand")
    change.show()
    assert change([block("a.txt", "good, too\n")], settings=settings).exit_code == 0
    assert len(subjects(change.project)) == 3


def test_a_red_run_commits_nothing(change):
    assert change([block("a.txt", "bad\n")], "--commit", "--repairs", "0").exit_code == 1
    assert subjects(change.project) == ["start"]


def test_undo_after_a_commit_says_that_the_commit_stays(change):
    change([GOOD + block("new.txt", "x\n")], "--commit")
    commit_id = change.project.git("rev-parse", "--short=12", "HEAD").strip()
    run = change.project.run_folder.name
    refused = change.project.command("undo")
    assert (refused.exit_code, change.project.read("a.txt")) == (3, "good\n")
    assert f"the changes of the latest run, {run}, are in the last commit\n" in refused.stderr
    assert f"`code-commit undo {run}` takes them back in the files\n" in refused.stderr
    finished = change.project.command("undo", run)
    assert (finished.exit_code, change.project.read("a.txt")) == (0, "old\n")
    assert (
        f"hint: the commit {commit_id} stays; `git add -A -- a.txt new.txt` and `git commit` revert"
        in finished.stderr
    )
    change.project.git("add", "-A", "--", "a.txt", "new.txt")
    change.project.git("commit", "-qm", "back")
    assert change.project.git("diff", "HEAD~2", "HEAD") == ""


NAMES = ("--help", "--version", "-C", "@file", ":(top)x", "--exec=touch pwned", "-c core.pager=x")


def test_names_of_files_that_look_like_flags_are_names(change):
    project = change.project
    project.write({**dict.fromkeys(NAMES, "old\n"), "a\nb": "x\n", "a.txt": "good\n"})
    project.git("add", "-A")
    project.git("commit", "-qm", "names")
    change.show()
    done = change(["".join(block(name, "new\n") for name in NAMES)], "--commit")
    assert done.exit_code == 0, done.stderr
    assert sorted(committed(project)) == sorted(f"M {name}" for name in NAMES)
    undone = project.command("undo", "--json", "latest", "--", "--help", "-C")
    assert sorted(undone.document["restored"]) == ["--help", "-C"]
    assert project.command("undo", "latest", "--json").exit_code == 0
    assert {project.read(name) for name in NAMES} == {"old\n"}
    assert not (project.root / "pwned").exists()
