"""A look keeps the files as they are: those that git tracks or does not ignore, byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace import Git, NotReady, ProjectTree, Workspace

Step = Callable[[Path, Callable[..., bytes]], object]
STEPS: dict[str, Step] = {
    "new files": lambda root, _git: [
        (root / name).write_text("1") for name in ("new", "sub/new", "b.o", "ü\n.txt")
    ],
    "the same size": lambda root, _git: (root / "sub/new").write_text("2"),
    "another size": lambda root, _git: (root / "a").write_text("longer"),
    "executable": lambda root, _git: (root / "a").chmod(0o755),
    "private": lambda root, _git: (root / "sub/new").chmod(0o600),
    "tracked": lambda root, git: git(root, "add", "new"),
    "deleted": lambda root, _git: [(root / name).unlink() for name in ("new", "sub/new")],
    "back again": lambda root, _git: [(root / name).write_text("3") for name in ("new", "sub/new")],
    "a folder for a file": lambda root, _git: [(root / "a").unlink(), (root / "a").mkdir()],
    "a file in it": lambda root, _git: (root / "a/b").write_text("4"),
    "a link for a folder": lambda root, _git: [
        shutil.move(root / "sub", root / "bus"),
        (root / "sub").symlink_to("bus"),
    ],
    "a file for a folder": lambda root, _git: [
        shutil.rmtree(root / "bus"),
        (root / "bus").write_text("6"),
    ],
    "a pipe": lambda root, _git: [(root / "a/b").unlink(), os.mkfifo(root / "a/b")],
    "a repository": lambda root, git: git(root, "init", "--quiet", "nested"),
    "files of it": lambda root, _git: (root / "nested/file").write_text("5"),
    "a commit": lambda root, git: [
        git(root, "add", "--all", ":!nested"),
        git(root, "commit", "--quiet", "-m", "all"),
    ],
    "nothing": lambda _root, _git: None,
}


def files(workspace: Workspace) -> dict[str, bytes]:
    """Look, and return the content of each file of the tree."""
    store = workspace.store
    listing = store.listing(store.look().tree)
    versions = store.versions(listing.values())
    return {path: versions[state].content for path, state in listing.items()}


def test_each_look_finds_what_a_first_look_finds(root, git, opened, workspace):
    for name in ("a", "sub/c"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("0")
    git(root, "add", "a", "sub/c")
    workspace.store.look()
    for name, step in STEPS.items():
        step(root, git)
        before = workspace.store.listing(workspace.store.look().tree)
        # Another state folder of the same name is a store of its own.
        with Workspace.open(
            root, writes=True, private_folder="agent-config", state_folder="agent-config/first"
        ) as first:
            assert before == first.store.listing(first.store.look().tree), name
        shutil.rmtree(root / "agent-config/first")


def test_a_look_says_what_changed_since_the_look_before(root, workspace, plant, git):
    plant(root, {"a": b"1", "b": b"1", "x.o": b"1"})
    git(root, "add", "a")
    first = workspace.store.look()
    assert first.changed == {".gitignore", "b"}
    assert workspace.store.look() == (first.tree, frozenset())
    (root / "a").touch()
    os.mkfifo(root / "pipe")
    (root / "empty").mkdir()
    plant(root, {"x.o": b"2"})
    assert workspace.store.look() == (first.tree, frozenset())
    plant(root, {"a": b"2", "b": None, "c": b"3"})
    second = workspace.store.look()
    assert second.changed == {"a", "b", "c"}
    changes = workspace.store.differences(first.tree, second.tree)
    assert {
        path: (change.before is not None, change.after is not None)
        for path, change in changes.items()
    } == {"a": (True, True), "b": (True, False), "c": (False, True)}
    (root / "a").chmod(0o755)
    assert workspace.store.look().changed == {"a"}


def test_a_look_takes_three_processes_of_git_and_one_if_nothing_changed(
    root, workspace, plant, git, monkeypatch
):
    plant(root, {"a": b"1", "b": b"1", "c": b"1"})
    git(root, "add", "a", "b")
    git(root, "commit", "--quiet", "-m", "first")
    commands: list[str] = []
    run = Git.run

    def counting(self, args, **options):
        commands.append(next(word for word in args if word.endswith(("-files", "-index", "-tree"))))
        return run(self, args, **options)

    monkeypatch.setattr(Git, "run", counting)
    workspace.store.look()
    assert commands == ["ls-files", "update-index", "write-tree"]
    commands.clear()
    workspace.store.look()
    assert commands == ["ls-files"]
    plant(root, {"a": b"2", "b": None, "c": None, "d": b"1"})
    commands.clear()
    workspace.store.look()
    assert commands == ["ls-files", "update-index", "write-tree"]


def test_bytes_are_exact_whatever_git_would_convert(root, workspace, tmp_path, git, plant):
    evidence = tmp_path / "filter-ran"
    contents = {
        ".gitattributes": (
            b"* text=auto eol=crlf export-ignore\n*.lfs filter=lfs diff=lfs -text\n"
            b"*.f filter=spy diff=spy\n*.id ident export-subst\n"
            b"*.u16 working-tree-encoding=UTF-16\n*.bad working-tree-encoding=NONSENSE\n"
            b"[attr]odd filter=spy\n*.odd odd\n"
        ),
        "crlf.txt": b"a\r\nb\nc\r\n",
        "sub/.gitattributes": b"* filter=spy text\n",
        "sub/mixed": b"\r\n\n\r",
        "pointer.lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        "x.f": b"plain",
        "x.odd": b"plain",
        "x.id": b"$Id: mine $ $Format:%H$\n",
        "x.u16": "\ufeffa\r\n".encode("utf-16"),
        "x.bad": b"\xff\xfe\x00",
        "bytes.bin": bytes(range(256)),
        "empty": b"",
    }
    plant(root, contents)
    for name in (
        "filter.spy.clean",
        "filter.spy.smudge",
        "filter.lfs.clean",
        "diff.spy.textconv",
        "diff.spy.command",
    ):
        git(root, "config", name, f"touch {evidence}; cat")
    for name, value in {
        "filter.spy.required": "true",
        "core.autocrlf": "true",
        "core.safecrlf": "true",
    }.items():
        git(root, "config", name, value)
    (root / ".git/info/attributes").write_text("* filter=spy\n")
    tree = workspace.store.look().tree
    plant(root, {path: b"other\r\n" for path in contents if not path.endswith(".gitattributes")})
    workspace.store.diffs(workspace.store.differences(tree, workspace.store.look().tree), most=9999)
    into = tmp_path / "copy"
    into.mkdir()
    with ProjectTree(into) as copied:
        workspace.store.copy(tree, copied, into / "agent-config/.workspace")
    assert {path: (into / path).read_bytes() for path in contents} == contents
    assert not evidence.exists()


def test_odd_names_links_and_modes(root, workspace, tmp_path):
    names = [
        b"new\nline",
        b"tab\t",
        b"\xff\xfe",
        "ü".encode(),
        b"-dash",
        b":(top)magic",
        b'quo"te',
        b"back\\slash",
        b"  ",
    ]
    for name in names:
        (root / os.fsdecode(name)).write_bytes(name)
    (root / "tool").write_bytes(b"#!/bin/sh\n")
    (root / "tool").chmod(0o755)
    (root / "link").symlink_to("../outside")
    (root / "to-folder").symlink_to("agent-config")
    into = tmp_path / "copy"
    into.mkdir()
    with ProjectTree(into) as copied:
        workspace.store.copy(workspace.store.look().tree, copied, into / "agent-config/.workspace")
    assert {os.fsencode(path.name) for path in into.iterdir()} == {
        *names,
        *(b".gitignore", b"tool", b"link", b"to-folder", b"agent-config"),
    }
    assert all((into / os.fsdecode(name)).read_bytes() == name for name in names)
    assert (into / "tool").stat().st_mode & 0o777 == 0o755
    assert (into / "link").readlink() == Path("../outside")
    assert (into / "to-folder").readlink() == Path("agent-config")


def test_tracked_files_count_even_where_ignored_and_other_repositories_do_not(
    root, workspace, git, plant
):
    plant(root, {"kept.o": b"1", "nested/file": b"theirs"})
    git(root, "add", "--force", "kept.o")
    git(root / "nested", "init", "--quiet")
    git(root / "nested", "add", "file")
    git(root / "nested", "commit", "--quiet", "-m", "theirs")
    submodule = root.parent / "sub"
    shutil.copytree(root / "nested", submodule)
    allowing = ("-c", "protocol.file.allow=always")
    git(root, *allowing, "submodule", "--quiet", "add", str(submodule), "module")
    assert files(workspace).keys() == {".gitignore", ".gitmodules", "kept.o"}
    plant(root, {"kept.o": b"2", "nested/file": b"built", "module/file": b"built"})
    assert workspace.store.look().changed == {"kept.o"}


@pytest.mark.parametrize("version", ["2", "4"])
def test_files_of_the_private_folder_are_not_kept_though_git_tracks_them(
    root, workspace, git, plant, version
):
    plant(root, {"agenda": b"1", "agent-config/config.toml": b"1"})
    git(root, "add", "--force", "agenda", "agent-config/config.toml")
    git(root, "update-index", "--index-version", version)
    assert files(workspace).keys() == {".gitignore", "agenda"}
    plant(root, {"agent-config/config.toml": b"2"})
    assert workspace.store.look().changed == frozenset()


def test_the_folder_of_git_under_another_name_is_left_alone(tmp_path, git, opened, plant):
    root = tmp_path / "project"
    git(tmp_path, "init", "--quiet", "--separate-git-dir", str(root / "data"), str(root))
    plant(root, {"a": b"1", "data/hooks/mine": b"#!"})
    with opened(root) as workspace:
        assert files(workspace) == {"a": b"1"}


def test_a_root_below_the_top_of_its_repository(tmp_path, git, opened, plant):
    (tmp_path / "low/agent-config").mkdir(parents=True)
    plant(tmp_path, {"above": b"1", ".gitignore": b"agent-config\n*.log\n", "low/b.log": b"1"})
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "-A")
    with opened(tmp_path / "low") as workspace:
        assert files(workspace) == {}
        plant(tmp_path, {"above": b"2", "low/a": b"2", "low/b.log": b"2"})
        assert files(workspace) == {"a": b"2"}


@pytest.mark.parametrize("kind", ["worktree", "sha256", "moved"])
def test_other_kinds_of_repositories(root, tmp_path, kind, git, opened, plant):
    if kind == "sha256":
        shutil.rmtree(root / ".git")
        git(root, "init", "--quiet", "--object-format=sha256")
    plant(root, {"a": b"1"})
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "first")
    if kind == "worktree":
        root = tmp_path / "a tree"
        git(tmp_path / "project", "worktree", "add", "--quiet", "-b", "other", str(root))
        (root / "agent-config").mkdir()
    with opened(root) as workspace:
        tree = workspace.store.look().tree
    if kind == "moved":
        root = root.rename(tmp_path / "elsewhere")
    plant(root, {"a": b"2"})
    with opened(root) as workspace:
        changes = workspace.store.differences(tree, workspace.store.look().tree)
        assert workspace.store.versions([changes["a"].before])[changes["a"].before].content == b"1"
        (diff,) = workspace.store.diffs(changes, most=9999)
    assert (diff.path, diff.added, diff.removed) == ("a", 1, 1)
    stored = [path for path in (root / "agent-config").rglob("objects/??/*") if path.is_file()]
    assert len(stored) == 4, "the changed file, its tree, and two trees of the diff"


def test_ignore_rules_that_change_hide_nothing_that_was_kept(root, workspace, plant):
    plant(root, {"a.txt": b"1", "secret.o": b"mine"})
    assert files(workspace).keys() == {".gitignore", "a.txt"}
    plant(root, {".gitignore": b"*\n", "a.txt": b"2", "junk.txt": b"built"})
    assert files(workspace)["a.txt"] == b"2"
    plant(root, {".gitignore": b"/agent-config\n"})
    assert files(workspace).keys() == {".gitignore", "a.txt", "secret.o", "junk.txt"}


@pytest.mark.parametrize("lost", ["collected", "a new repository", "while the run goes on"])
def test_objects_that_the_users_git_deleted_are_kept_again(root, opened, git, plant, lost):
    plant(root, {"staged": b"my work", "kept.o": b"tracked"})
    git(root, "add", "--force", "staged", "kept.o")
    with opened(root) as workspace:
        workspace.store.look()
        if lost == "collected":
            git(root, "rm", "--quiet", "--cached", "staged")
            git(root, "prune", "--expire=now")
        elif lost == "a new repository":
            shutil.rmtree(root / ".git")
            git(root, "init", "--quiet")
        else:
            shutil.rmtree(root / ".git/objects")
            (root / ".git/objects").mkdir()
            plant(root, {"new": b"1"})
            assert files(workspace)["kept.o"] == b"tracked"
    with opened(root) as workspace:
        assert files(workspace)["staged"] == b"my work"


@pytest.mark.parametrize("state", ["damaged", "split", "conflict", "intended", "none"])
def test_any_index_of_the_user_will_do(root, opened, git, plant, state):
    plant(root, {"a": b"1\n", "kept.o": b"1"})
    git(root, "add", "--force", "a", "kept.o")
    git(root, "commit", "--quiet", "-m", "first")
    kept = {".gitignore", "a", "kept.o"}
    if state == "damaged":
        (root / ".git/index").write_bytes(b"DIRC damaged")
        kept = {".gitignore", "a"}
    elif state == "split":
        git(root, "update-index", "--split-index")
    elif state == "conflict":
        git(root, "checkout", "--quiet", "-b", "other")
        plant(root, {"a": b"2\n"})
        git(root, "commit", "--quiet", "--all", "-m", "second")
        git(root, "checkout", "--quiet", "-")
        plant(root, {"a": b"3\n"})
        git(root, "commit", "--quiet", "--all", "-m", "third")
        with pytest.raises(subprocess.CalledProcessError):
            git(root, "merge", "other")
    elif state == "intended":
        plant(root, {"empty": b"", "b": b"1"})
        git(root, "add", "--intent-to-add", "empty", "b")
        kept |= {"empty", "b"}
    else:
        (root / ".git/index").unlink()
        kept = {".gitignore", "a"}
    with opened(root) as workspace:
        assert files(workspace) == {path: (root / path).read_bytes() for path in kept}


def test_a_change_in_the_second_of_the_users_add_is_not_missed(root, opened, git, plant):
    plant(root, {"a": b"10"})
    git(root, "add", "a")
    plant(root, {"a": b"11"})  # the same file, with the same length
    status = (root / ".git/index").stat()
    os.utime(root / "a", ns=(status.st_mtime_ns, status.st_mtime_ns))
    with opened(root) as workspace:
        assert files(workspace)["a"] == b"11"


def test_a_broken_index_of_our_own_is_made_again(root, workspace, plant, git):
    plant(root, {"kept.o": b"1"})
    git(root, "add", "--force", "kept.o")
    workspace.store.look()
    (root / "agent-config/.workspace/store.git/index").write_bytes(b"")
    plant(root, {"a": b"1"})
    assert files(workspace).keys() == {".gitignore", "a", "kept.o"}


def test_what_takes_long_to_keep_is_announced_once(root, workspace, plant, monkeypatch):
    monkeypatch.setattr("code_commit_workspace.store.limits._MUCH", 1000)
    plant(root, {"large": b"x" * 1000, "small": b"1"})
    announced: list[str] = []
    for content in (b"1", b"2"):
        plant(root, {"small": content})
        workspace.store.look(announced.append)
    assert announced == [
        "saving 0.0 GB for `undo`; the largest file that git does not ignore is large"
    ]


def test_what_git_would_wait_for_is_named(root, workspace, plant):
    plant(root, {"a": b"1", "d/b": b"1"})
    workspace.store.look()
    os.mkfifo(root / "d/.gitattributes")
    plant(root, {"d/b": b"2"})
    with pytest.raises(NotReady, match=r"d/\.gitattributes is a named pipe, not a file"):
        workspace.store.look()
    (root / "d/.gitattributes").unlink()
    assert files(workspace)["d/b"] == b"2"


@pytest.fixture
def changes(root, workspace, plant):
    """What differs between two looks: a file is removed, one changed, one added."""
    plant(root, {"kept": b"k\n", "d/gone": b"g\n", "d/changed": b"1\n", "file": b"f\n"})
    before = workspace.store.look().tree
    plant(root, {"d/gone": None, "d/changed": b"2\n", "e/new": b"n\n"})
    (root / "file").unlink()
    (root / "file").symlink_to("kept")
    return workspace.store.differences(before, workspace.store.look().tree)


def test_a_diff_has_each_file_with_its_counts(workspace, changes):
    diffs = {diff.path: diff for diff in workspace.store.diffs(changes, most=9999)}
    assert {path: (diff.added, diff.removed) for path, diff in diffs.items()} == {
        "d/changed": (1, 1),
        "d/gone": (0, 1),
        "e/new": (1, 0),
        "file": (1, 1),
    }
    assert diffs["d/changed"].text.endswith("@@ -1 +1 @@\n-1\n+2\n")
    assert diffs["file"].text.count("diff --git ") == 2
    assert workspace.store.diffs({}, most=9) == []


def test_a_diff_that_is_too_long_has_counts_alone(workspace, changes):
    diffs = workspace.store.diffs(changes, most=300)
    assert [diff.path for diff in diffs] == sorted(changes)
    assert {diff.text for diff in diffs} >= {""}
    assert sum(len(diff.text) for diff in diffs) <= 300
    assert all(diff.added is not None for diff in diffs)


def test_a_diff_shows_files_that_attributes_call_binary(root, workspace, plant):
    plant(root, {".gitattributes": b"*.py -diff\n*.js binary\n", "a.py": b"1\n", "a.js": b"1\n"})
    before = workspace.store.look().tree
    plant(root, {"a.py": b"2\n", "a.js": b"2\n", "bytes": bytes(range(256))})
    changes = workspace.store.differences(before, workspace.store.look().tree)
    diffs = {diff.path: diff for diff in workspace.store.diffs(changes, most=9999)}
    assert all(diffs[path].text.endswith("\n-1\n+2\n") for path in ("a.py", "a.js"))
    assert diffs["bytes"].added is None


def test_files_with_the_ids_of_trees_hinder_nothing(root, workspace, plant):
    """A build without a sandbox can read these ids."""
    plant(root, {"a": b"1\n"})
    before = workspace.store.look().tree
    plant(root, {"a": b"2\n"})
    after = workspace.store.look().tree
    plant(root, {before: b"", after: b""})
    changes = workspace.store.differences(before, after)
    assert [diff.path for diff in workspace.store.diffs(changes, most=9999)] == ["a"]
