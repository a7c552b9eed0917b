"""Checkpoints with a real git: every visible byte is restored, and nothing else is touched."""

import hashlib
import os
import shutil
import stat
from pathlib import Path

import pytest

from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.stop import STOP

RUN = "2025-01-02-03-04-05-committing-code"


def picture(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Kind, content, permission bits of everything but `.git` and `agent-config`."""
    seen: dict[bytes, tuple[object, ...]] = {}
    for path in root.rglob("*"):
        short = path.relative_to(root)
        if short.parts[0] in {".git", "agent-config"}:
            continue
        if path.is_symlink():
            seen[os.fsencode(short)] = ("link", path.readlink())
        elif path.is_file():
            seen[os.fsencode(short)] = (
                "file",
                path.read_bytes(),
                stat.S_IMODE(path.stat().st_mode),
            )
    return seen


def of_users_git(root: Path) -> str:
    """Return one hash of everything in the user's `.git`, including the index and its times."""
    digest = hashlib.sha256()
    for path in sorted((root / ".git").rglob("*")):
        status = path.lstat()
        digest.update(f"{path.relative_to(root)} {status.st_mode} {status.st_size}".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def test_undo_brings_back_what_a_run_changed_added_and_removed(root, checkpoints, git, plant):
    plant(root, {"a.txt": b"1\n", "d/b.txt": b"2\n", "e/c.txt": b"3\n", "x.o": b"ignored"})
    git(root, "add", "a.txt", "d")
    git(root, "commit", "--quiet", "-m", "first")
    before, users = picture(root), of_users_git(root)
    start = checkpoints.take(RUN, "start")
    plant(root, {"a.txt": b"changed\n", "d/b.txt": None, "new/n.txt": b"4\n", "x.o": b"built"})
    end = checkpoints.take(RUN, "attempt-1")
    assert checkpoints.of_run(RUN) == [("start", start), ("attempt-1", end)]
    assert checkpoints.changes(start, end) == ("a.txt", "d/b.txt", "new/n.txt")
    assert b"\n-1\n+changed\n" in checkpoints.diff(start, end)
    assert checkpoints.undo(RUN).paths == ("a.txt", "d/b.txt", "new/n.txt")
    assert picture(root) == before | {b"x.o": ("file", b"built", 0o644)}
    assert not (root / "new").exists()
    assert checkpoints.undo(RUN).paths == ()
    assert of_users_git(root) == users
    assert not list((root / "agent-config/.code-commit/journal").iterdir())


def test_files_with_the_ids_of_checkpoints_hinder_nothing(root, checkpoints, plant):
    """A build without a sandbox can read these ids."""
    plant(root, {"a.txt": b"1\n"})
    start = checkpoints.take(RUN, "start")
    plant(root, {"a.txt": b"2\n"})
    end = checkpoints.take(RUN, "end")
    plant(root, {start: b"", end: b""})
    assert checkpoints.changes(start, end) == ("a.txt",)
    assert b"\n-1\n+2\n" in checkpoints.diff(start, end)
    assert checkpoints.undo(RUN).paths == ("a.txt",)


def test_a_patch_takes_git_apply_from_one_tree_to_the_other(root, of, git, plant):
    plant(root, {"sub/text": b"1\n", "sub/bytes": bytes(range(256)), "beside": b"x\n"})
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "first")
    with ProjectTree(root / "sub") as tree:
        checkpoints = of(tree)
        start = checkpoints.take(RUN, "start")
        plant(root, {"sub/text": b"2\n", "sub/bytes": b"\xff\x00", "sub/new/n": b"3\n"})
        end = checkpoints.take(RUN, "end")
        patch = checkpoints.patch(start, end)
        checkpoints.undo(RUN)

    (root.parent / "patch").write_bytes(patch)
    git(root, "apply", "../patch")

    contents = {path: (root / "sub" / path).read_bytes() for path in ("text", "bytes", "new/n")}
    assert contents == {"text": b"2\n", "bytes": b"\xff\x00", "new/n": b"3\n"}


def test_bytes_are_exact_whatever_git_would_convert(root, checkpoints, tmp_path, git, plant):
    evidence = tmp_path / "filter-ran"
    plant(
        root,
        {
            ".gitattributes": (
                b"* text=auto eol=crlf\n*.lfs filter=lfs diff=lfs -text\n*.f filter=spy diff=spy\n*.id ident\n"
                b"*.u16 working-tree-encoding=UTF-16\n*.bad working-tree-encoding=NONSENSE\n[attr]odd filter=spy\n*.odd odd\n"
            ),
            "crlf.txt": b"a\r\nb\nc\r\n",
            "sub/.gitattributes": b"* filter=spy text\n",
            "sub/mixed": b"\r\n\n\r",
            "pointer.lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "x.f": b"plain",
            "x.odd": b"plain",
            "x.id": b"$Id: mine $\n",
            "x.u16": "\ufeffa\r\n".encode("utf-16"),
            "x.bad": b"\xff\xfe\x00",
            "bytes.bin": bytes(range(256)),
            "empty": b"",
        },
    )
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
    before = picture(root)
    start = checkpoints.take(RUN, "start")
    for path in list(before):
        if not path.endswith((b".gitattributes", b".gitignore")):
            (root / os.fsdecode(path)).write_bytes(b"other\r\n")
    end = checkpoints.take(RUN, "end")
    checkpoints.diff(start, end)
    checkpoints.undo(RUN)
    assert picture(root) == before
    assert not evidence.exists()


def test_odd_names_links_and_modes(root, checkpoints):
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
    (root / "private").write_bytes(b"p")
    (root / "private").chmod(0o600)
    (root / "tool").write_bytes(b"#!/bin/sh\n")
    (root / "tool").chmod(0o755)
    (root / "link").symlink_to("../outside")
    (root / "to-folder").symlink_to("agent-config")
    (root / "turned").symlink_to("east")
    before = picture(root)
    checkpoints.take(RUN, "start")
    for name in (*names, b"private"):
        (root / os.fsdecode(name)).unlink()
    (root / "tool").chmod(0o644)
    (root / "link").unlink()
    (root / "link").write_bytes(b"a file now")
    (root / "to-folder").unlink()
    (root / "to-folder").mkdir()
    (root / "to-folder/inside").write_bytes(b"new")
    (root / "turned").unlink()
    (root / "turned").symlink_to("west")
    checkpoints.take(RUN, "end")
    checkpoints.undo(RUN)
    assert picture(root) == before


def test_permission_bits_that_git_does_not_know_come_back(root, checkpoints, plant):
    plant(root, {"a": b"1", "b": b"2", "c": b"3"})
    (root / "a").chmod(0o600)
    start = checkpoints.take(RUN, "start")
    (root / "a").chmod(0o644)
    (root / "b").chmod(0o660)
    (root / "c").chmod(0o645)
    checkpoints.take(RUN, "end")
    assert checkpoints.restore(start) == ("a", "b", "c")
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in "abc"] == [0o600, 0o644, 0o644]


def test_undo_names_what_was_changed_since_and_touches_nothing(root, checkpoints, plant):
    many = [f"f{n:02}" for n in range(30)]
    plant(root, {"a": b"1", "b": b"1", "other": b"1", **dict.fromkeys(many, b"1")})
    checkpoints.take(RUN, "start")
    plant(root, {"a": b"2", "b": b"2", **dict.fromkeys(many, b"2")})
    checkpoints.take(RUN, "end")
    plant(root, {"b": b"mine", "c": b"mine", "other": b"mine"})
    before = picture(root)
    with pytest.raises(NotReady, match=rf"files were changed since the run {RUN}: b$") as caught:
        checkpoints.undo(RUN)
    assert f"`code-commit undo {RUN} --force`" in caught.value.hint
    plant(root, dict.fromkeys(many, b"mine"))
    with pytest.raises(NotReady, match=r": b, f00, .*f18 and 11 more$"):
        checkpoints.undo(RUN)
    plant(root, {"b": b"2", **dict.fromkeys(many, b"2")})
    (root / "f00").chmod(0o600)
    with pytest.raises(NotReady, match=r": f00$"):
        checkpoints.undo(RUN)
    (root / "f00").chmod(0o644)
    assert picture(root) == before | {b"b": ("file", b"2", 0o644)}
    assert checkpoints.undo(RUN).paths == ("a", "b", *many)


def test_permission_bits_that_only_the_user_changed_stay(root, checkpoints, plant):
    plant(root, {"a": b"1", "b": b"1", "c": b"1"})
    checkpoints.take(RUN, "start")
    (root / "b").chmod(0o600)
    checkpoints.take(RUN, "end")
    (root / "c").chmod(0o600)
    assert checkpoints.undo(RUN).paths == ("b",)
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in "abc"] == [0o644, 0o644, 0o600]


def test_undo_of_an_unknown_run(checkpoints):
    checkpoints.take("one", "start")
    with pytest.raises(NotReady, match="no checkpoint of the run two") as error:
        checkpoints.undo("two")
    assert error.value.hint == "runs with checkpoints: one"


def test_tracked_files_count_even_where_ignored_and_other_repositories_do_not(
    root, checkpoints, git, plant
):
    plant(root, {"kept.o": b"1", "nested/file": b"theirs"})
    git(root, "add", "--force", "kept.o")
    git(root / "nested", "init", "--quiet")
    git(root / "nested", "add", "file")
    git(root / "nested", "commit", "--quiet", "-m", "theirs")
    sub = root.parent / "sub"
    shutil.copytree(root / "nested", sub)
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(sub), "module")
    start = checkpoints.take(RUN, "start")
    plant(
        root,
        {"kept.o": b"2", "nested/file": b"built", "module/file": b"built", "module/new": b"built"},
    )
    end = checkpoints.take(RUN, "end")
    assert checkpoints.changes(start, end) == ("kept.o",)
    checkpoints.undo(RUN)
    assert (root / "kept.o").read_bytes() == b"1"
    assert (root / "nested/file").read_bytes() == b"built"
    assert (root / "module/new").read_bytes() == b"built"


def test_the_folder_of_git_under_another_name_is_left_alone(tmp_path, git, of, plant):
    root = tmp_path / "project"
    git(tmp_path, "init", "--quiet", "--separate-git-dir", str(root / "data"), str(root))
    plant(root, {"a": b"1"})
    with ProjectTree(root) as tree:
        of(tree).take(RUN, "start")
        plant(root, {"a": b"2", "data/hooks/mine": b"#!"})
        of(tree).take(RUN, "end")
        assert of(tree).undo(RUN).paths == ("a",)
    assert (root / "data/hooks/mine").exists()


def test_a_root_below_the_top_of_its_repository(tmp_path, git, of, plant):
    plant(
        tmp_path,
        {
            "above.txt": b"1",
            ".gitignore": b"/low/agent-config\n*.log\n",
            "low/a.txt": b"1",
            "low/a.log": b"1",
        },
    )
    (tmp_path / "low/agent-config").mkdir()
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    with ProjectTree(tmp_path / "low") as tree:
        checkpoints = of(tree)
        start = checkpoints.take(RUN, "start")
        plant(tmp_path, {"above.txt": b"2", "low/a.txt": b"2", "low/a.log": b"2"})
        assert checkpoints.changes(start, checkpoints.take(RUN, "end")) == ("a.txt",)
        checkpoints.undo(RUN)
    assert [(tmp_path / path).read_bytes() for path in ("above.txt", "low/a.txt", "low/a.log")] == [
        b"2",
        b"1",
        b"2",
    ]


def test_a_build_that_changes_the_ignore_rules_makes_nothing_lost(root, checkpoints, plant):
    plant(root, {"secret.o": b"mine", "data.csv": b"mine"})
    (root / ".git/info/exclude").write_text("data.csv\n")
    before = picture(root)
    start = checkpoints.take(RUN, "start")
    plant(root, {".gitignore": b"/agent-config\n", ".git/info/exclude": b"", "junk.txt": b"built"})
    checkpoints.take(RUN, "end")
    assert checkpoints.restore(start) == (".gitignore", "junk.txt")
    assert picture(root) == before


def test_what_a_changed_ignore_rule_hides_is_seen_again(root, checkpoints, plant):
    plant(root, {"a.txt": b"1"})
    before = picture(root)
    start = checkpoints.take(RUN, "start")
    plant(root, {".gitignore": b"*\n", "a.txt": b"2", "junk.txt": b"built"})
    checkpoints.take(RUN, "end")
    checkpoints.restore(start)
    assert picture(root) == before


def test_a_folder_that_became_a_link_comes_back_and_its_target_is_left_alone(
    root, checkpoints, tmp_path, git, plant
):
    plant(root, {"d/a": b"1", "d/b": b"1"})
    git(root, "add", "d")
    outside = tmp_path / "outside"
    plant(outside, {"a": b"canary"})
    before = picture(root)
    checkpoints.take(RUN, "start")
    shutil.rmtree(root / "d")
    (root / "d").symlink_to(outside)
    checkpoints.take(RUN, "end")
    checkpoints.undo(RUN)
    assert picture(root) == before
    assert (outside / "a").read_bytes() == b"canary"


def test_ignore_rules_too_stay_when_a_restore_is_stopped(root, checkpoints, plant):
    plant(root, {"a": b"1"})
    start = checkpoints.take(RUN, "start")
    plant(root, {"a": None, ".gitignore": b"/agent-config\nx.o\nmore\n"})
    plant(root, {"a/x.o": b"built"})
    before = picture(root)
    with pytest.raises(NotReady, match=r"a cannot be changed: it is a folder that contains x\.o"):
        checkpoints.restore(start)
    assert picture(root) == before


def test_a_signal_does_not_separate_ignore_rules_from_files(root, checkpoints, plant, monkeypatch):
    plant(root, {"a": b"1"})
    before = picture(root)
    start = checkpoints.take(RUN, "start")
    plant(root, {"a": b"2", ".gitignore": b"/agent-config\n*.o\n"})
    restorer = checkpoints._restorer
    write = restorer.write

    def write_and_signal(*arguments, **options):
        write(*arguments, **options)
        monkeypatch.setattr(STOP, "is_set", True)

    monkeypatch.setattr(restorer, "write", write_and_signal)
    checkpoints.restore(start)
    with pytest.raises(Interrupted):
        STOP.check()
    monkeypatch.undo()
    assert picture(root) == before


def test_an_undo_that_was_cut_short_goes_on(root, checkpoints, plant):
    plant(root, {"a": b"1", "b": b"1", "c": b"1"})
    checkpoints.take(RUN, "start")
    plant(root, {"a": b"2", "b": b"2", "new": b"2"})
    checkpoints.take(RUN, "end")
    plant(root, {"a": b"1"})
    assert checkpoints.undo(RUN).paths == ("b", "new")
