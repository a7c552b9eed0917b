"""What a run wrote is taken back and brought back; what people and processes wrote stays."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from code_commit_workspace import Change, Conflict, Git, NotReady, StoreLimits, Workspace
from code_commit_workspace.store.log import Entry, now

LINES = [b"%d\n" % number for number in range(20)]


def text(**changed: str) -> bytes:
    """Return 20 lines, some of them other: `l3="x"` is line 3."""
    return b"".join(
        changed[f"l{number}"].encode() + b"\n" if f"l{number}" in changed else line
        for number, line in enumerate(LINES)
    )


def picture(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Kind, content and permission bits of everything but `.git` and `agent-config`."""
    seen: dict[bytes, tuple[object, ...]] = {}
    for path in root.rglob("*"):
        short = path.relative_to(root)
        if short.parts[0] in {".git", "agent-config"} or path.is_dir():
            continue
        content = path.readlink() if path.is_symlink() else path.read_bytes()
        seen[os.fsencode(short)] = (content, stat.S_IMODE(path.lstat().st_mode))
    return seen


def of_git(root: Path) -> dict[Path, tuple[int, ...]]:
    """Everything in the user's `.git`, including the index and its times."""
    statuses = {path: path.lstat() for path in (root / ".git").rglob("*")}
    return {
        path: (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns)
        for path, status in statuses.items()
    }


def wrote(
    workspace: Workspace,
    name: str,
    files: dict[str, bytes | None],
    shown: dict[str, bytes | None] | None = None,
):
    """Apply a response in a run of its own."""
    run = workspace.begin(name)
    changes = [Change(path, content) for path, content in files.items()]
    run.apply(changes, shown)
    return run


def undo(workspace: Workspace, run: str | None = None, **options: object) -> tuple[str, ...]:
    return workspace.store.undo(run, **options).paths


def test_a_run_is_undone_and_redone(root, workspace, plant, git):
    plant(root, {"a": b"1\n", "d/b": b"2\n", "to-file": b"3", "x.o": b"ignored", "keep": b"k"})
    (root / "keep").chmod(0o755)
    git(root, "add", "a")
    git(root, "commit", "--quiet", "-m", "first")
    before_in_git = of_git(root)
    before = picture(root)
    run = wrote(
        workspace,
        "run",
        {"a": b"new\n", "d/b": None, "to-file": None, "to-file/n": b"4", "keep": b"new"},
    )
    after = picture(root)
    assert {path: (c.before is None, c.after is None) for path, c in run.net().items()} == {
        "a": (False, False),
        "d/b": (False, True),
        "to-file": (False, True),
        "to-file/n": (True, False),
        "keep": (False, False),
    }
    undone = workspace.store.undo(None)
    assert undone[:2] == ("run", ("a", "d/b", "keep", "to-file", "to-file/n"))
    assert (picture(root), run.log.entries[-1].by) == (before, "undo")
    assert run.net().keys() == set(undone.paths), "what the run itself did"
    with pytest.raises(NotReady, match="nothing to undo: the changes of run are already undone"):
        workspace.store.undo("run")
    assert workspace.store.redo().paths == undone.paths
    assert picture(root) == after
    assert undo(workspace, "run") == undone.paths
    assert picture(root) == before
    assert of_git(root) == before_in_git


def test_a_persons_lines_elsewhere_stay_through_all_of_it(root, workspace, plant):
    """Responses, with edits between; then undo, redo, and undo again."""
    plant(root, {"a": text()})
    run = wrote(workspace, "run", {"a": text(l0="r1")}, {"a": text()})
    plant(root, {"a": text(l0="r1", l5="mine")})
    shown = {"a": text(l0="r1")}
    moved = workspace.apply([Change("a", text(l0="r1", l10="r2"))], run=run, shown=shown)
    assert moved.differences.keys() == {"a"}
    assert (root / "a").read_bytes() == text(l0="r1", l5="mine", l10="r2")
    plant(root, {"a": text(l0="r1", l5="mine", l10="r2", l15="too")})
    change = run.net()["a"]
    versions = workspace.store.versions(change)
    assert versions[change.before].content == text(l5="mine")
    assert versions[change.after].content == text(l0="r1", l5="mine", l10="r2")

    undone = workspace.store.undo(None)
    assert (undone.paths, undone.merged) == (("a",), ("a",))
    assert (root / "a").read_bytes() == text(l5="mine", l15="too")
    plant(root, {"a": text(l5="mine", l15="too", l19="last")})
    redone = workspace.store.redo()
    assert (redone.paths, redone.merged) == (("a",), ("a",))
    whole = text(l0="r1", l5="mine", l10="r2", l15="too", l19="last")
    assert (root / "a").read_bytes() == whole
    workspace.store.undo(None)
    assert (root / "a").read_bytes() == text(l5="mine", l15="too", l19="last")


def test_a_response_conflicts_with_a_persons_lines_and_touches_nothing(root, workspace, plant):
    plant(root, {"a": text(), "b": b"1"})
    run = workspace.begin("run")
    run.begin()
    plant(root, {"a": text(l3="mine")})
    before = picture(root)
    changes = [Change("b", b"2"), Change("a", text(l3="theirs")), Change("c", b"new")]
    with pytest.raises(Conflict, match=r"by somebody else at the same places: a$") as caught:
        workspace.apply(changes, run=run, shown={"a": text(), "b": b"1", "c": None})
    assert caught.value.paths == ("a",)
    assert (picture(root), run.net()) == (before, {})
    plant(root, {"c": b"mine"})
    with pytest.raises(NotReady, match=r": a, c$"):
        workspace.apply(changes, run=run, shown={"a": text(), "b": b"1", "c": None})


@pytest.mark.parametrize("saves", [1, 100])
def test_a_file_that_a_person_saves_at_the_moment_of_a_move(
    root, workspace, plant, monkeypatch, saves
):
    plant(root, {"a": text(), "b": b"1"})
    run = workspace.begin("run")
    run.begin()
    put = workspace.store.put
    saved: list[bytes] = []

    def put_and_save(versions):
        put(versions)
        if len(saved) < saves:
            saved.append(text(l9=f"mine {len(saved)}"))
            (root / "a.new").write_bytes(saved[-1])
            (root / "a.new").rename(root / "a")

    monkeypatch.setattr(workspace.store, "put", put_and_save)
    changes = [Change("a", text(l3="r")), Change("b", b"2")]
    if saves == 1:
        run.apply(changes, {"a": text()})
        assert (root / "a").read_bytes() == text(l3="r", l9="mine 0")
        undo(workspace)
    else:
        with pytest.raises(NotReady, match="a could not be inspected: something else changed it"):
            run.apply(changes, {"a": text()})
        assert run.net() == {}
    assert ((root / "a").read_bytes(), (root / "b").read_bytes()) == (saved[-1], b"1")


def test_an_undo_that_conflicts_touches_nothing_and_force_gives_it_way(root, workspace, plant):
    plant(root, {"a": text(), "b": b"old"})
    wrote(workspace, "run", {"a": text(l3="theirs"), "b": b"new", "c": b"new", "d": b"new"})
    plant(root, {"a": text(l3="mine"), "c": b"mine"})
    before = picture(root)
    with pytest.raises(NotReady, match=r"at the same places: a, c$") as caught:
        workspace.store.undo(None)
    assert "`code-commit undo run --force`" in caught.value.hint
    assert "`code-commit redo` brings them back" in caught.value.hint
    assert picture(root) == before
    undone = workspace.store.undo(None, force=True)
    assert (undone.paths, undone.replaced) == (("a", "b", "c", "d"), ("a", "c"))
    assert picture(root) == {
        b".gitignore": before[b".gitignore"],
        b"a": (text(), 0o644),
        b"b": (b"old", 0o644),
    }
    workspace.store.redo()
    assert picture(root) == before


def test_a_redo_that_conflicts_touches_nothing(root, workspace, plant):
    plant(root, {"a": text(), "b": b"1"})
    wrote(workspace, "run", {"a": text(l3="theirs"), "b": b"2"})
    workspace.store.undo(None)
    plant(root, {"a": text(l3="mine")})
    before = picture(root)
    with pytest.raises(NotReady, match=r"since they were moved back, at the same places: a$"):
        workspace.store.redo()
    assert picture(root) == before
    plant(root, {"a": text(l9="mine")})
    assert workspace.store.redo("run").paths == ("a", "b")
    assert (root / "a").read_bytes() == text(l3="theirs", l9="mine")


def test_files_that_no_response_wrote_are_never_touched(root, workspace, plant):
    plant(root, {"a": b"1\n", "notes": b"1", "gone": b"1"})
    run = wrote(workspace, "run", {"a": b"2\n"})
    plant(root, {"coverage.xml": b"built", "notes": b"2", "gone": None, "temporary": b"x"})
    assert sorted(run.note("process")) == ["coverage.xml", "gone", "notes", "temporary"]
    (root / "temporary").unlink()
    (root / "coverage.xml").touch()
    assert list(run.note("process")) == ["temporary"]
    plant(root, {"own": b"mine"})
    assert list(run.note("person")) == ["own"]
    assert run.net().keys() == {"a"}
    undone = workspace.store.undo(None)
    assert (undone.paths, undone.left) == (("a",), ("coverage.xml", "notes"))
    assert {path.name for path in root.iterdir()} >= {"coverage.xml", "own"}
    assert ((root / "notes").read_bytes(), (root / "gone").exists()) == (b"2", False)


def test_a_build_that_formats_a_file_of_the_response_is_undone_where_it_can_be(
    root, workspace, plant
):
    plant(root, {"a": text(), "b": text()})
    run = wrote(workspace, "run", {"a": text(l3="r"), "b": text(l3="r")})
    plant(root, {"a": text(l3="r", l12="formatted"), "b": text(l3="R")})
    assert sorted(run.note("process")) == ["a", "b"]
    with pytest.raises(NotReady, match=r"at the same places: b$"):
        workspace.store.undo(None)
    assert undo(workspace, below=["a"]) == ("a",)
    assert (root / "a").read_bytes() == text(l12="formatted")
    assert undo(workspace, force=True) == ("b",)
    assert (root / "b").read_bytes() == text()


def test_a_file_that_the_build_wrote_first_is_as_the_build_left_it(root, workspace, plant):
    run = workspace.begin("run")
    run.begin()
    plant(root, {"made": b"built"})
    run.note("process")
    workspace.apply([Change("made", b"written")], run=run)
    workspace.store.undo(None)
    assert (root / "made").read_bytes() == b"built"


def test_what_a_command_of_a_model_changes_is_its_work(root, workspace, plant):
    plant(root, {"a": text(), "gone": b"g", "mine": b"1", "formatted": text()})
    before = picture(root)
    run = wrote(workspace, "run", {"formatted": text(l3="r")})
    with run.command() as written:
        plant(root, {"a": text(l0="c"), "gone": None, "new": b"n", "x.o": b"ignored"})
        plant(root, {"formatted": text(l3="r", l9="c")})
    assert sorted(written) == ["a", "formatted", "gone", "new"]
    assert run.net().keys() == {"a", "formatted", "gone", "new"}
    plant(root, {"a": text(l0="c", l9="mine"), "mine": b"2"})
    assert undo(workspace) == ("a", "formatted", "gone", "new")
    assert picture(root) == before | {
        b"a": (text(l9="mine"), 0o644),
        b"mine": (b"2", 0o644),
        b"x.o": (b"ignored", 0o644),
    }


def test_some_paths_are_undone_and_then_the_others(root, workspace, plant):
    plant(root, {"d/gone": b"g", "d/changed": b"1", "kept": b"k"})
    wrote(workspace, "run", {"d/gone": None, "d/changed": b"2", "e/new": b"n"})
    assert undo(workspace, "run", below=["./d/gone", "e"]) == ("d/gone", "e/new")
    assert (root / "d/changed").read_bytes() == b"2"
    with pytest.raises(NotReady) as caught:
        workspace.store.undo("run", ["d", "kept"])
    assert caught.value.message == "the run run changed nothing at kept"
    assert caught.value.hint == "nothing was undone; it changed d/changed"
    with pytest.raises(NotReady, match=r"the run run changed nothing at d/c$"):
        workspace.store.undo("run", ["d/c"])
    assert undo(workspace, below=["d/"]) == ("d/changed",)
    assert workspace.store.redo().paths == ("d/changed",)
    assert undo(workspace, below=["."]) == ("d/changed",)


def test_links_modes_and_swaps_come_back(root, workspace, plant):
    plant(root, {"tool": b"1", "private": b"p", "d/x": b"x"})
    (root / "tool").chmod(0o755)
    (root / "private").chmod(0o600)
    (root / "link").symlink_to("../outside")
    (root / "turned").symlink_to("east")
    before = picture(root)
    run = workspace.begin("run")
    changes = [
        Change("tool", b"2", mode=0o644),
        Change("private", b"q"),
        Change("d/x", None),
        Change("d", b"a file"),
    ]
    run.apply(changes)
    with run.command():
        (root / "link").unlink()
        (root / "link").write_bytes(b"a file now")
        (root / "turned").unlink()
        (root / "turned").symlink_to("west")
    assert (root / "private").stat().st_mode & 0o777 == 0o600
    after = picture(root)
    undo(workspace)
    assert picture(root) == before
    workspace.store.redo()
    assert picture(root) == after


def test_a_file_that_is_as_wanted_is_not_touched(root, workspace, plant):
    plant(root, {"a": b"1", "b": b"1"})
    before = (root / "a").stat()
    run = workspace.begin("run")
    moved = run.apply([Change("a", b"1"), Change("b", b"2"), Change("none", None)])
    assert moved.differences.keys() == run.net().keys() == {"b"}
    assert ((root / "a").stat().st_ino, (root / "a").stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )


def test_git_is_asked_once_for_many_files(root, workspace, plant, monkeypatch):
    names = [f"d/{number}" for number in range(40)]
    plant(root, dict.fromkeys(names, b"1"))
    run = wrote(workspace, "run", dict.fromkeys(names, b"2"))
    run.apply([Change(name, b"3") for name in names])
    commands: list[str] = []
    run_git = Git.run

    def counting(self, args, **options):
        commands.append(args[0])
        return run_git(self, args, **options)

    monkeypatch.setattr(Git, "run", counting)
    for work in (workspace.store.undo, workspace.store.redo):
        commands.clear()
        assert len(work("run").paths) == 40
        assert commands == ["cat-file"]


def test_bits_that_a_person_set_since_stay(root, workspace, plant):
    plant(root, {"a": text(), "b": text()})
    wrote(workspace, "run", {"a": text(l3="r"), "b": text(l3="r")})
    (root / "a").chmod(0o600)
    undo(workspace)
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in "ab"] == [0o600, 0o644]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "link above", "file above", "huge"])
def test_what_is_in_the_way_of_an_undo_is_named_and_stays(root, opened, tmp_path, plant, kind):
    (tmp_path / "outside").mkdir()
    plant(root, {"d/a": b"old", "b": b"old"})
    plant(tmp_path / "outside", {"a": b"canary"})
    named = "d" if kind == "link above" else "d/a"
    with opened(root, store_limits=lambda: StoreLimits(0, 0)) as workspace:
        wrote(workspace, "run", {"d/a": b"new", "b": b"new"})
        (root / "d/a").unlink()
        match kind:
            case "pipe":
                os.mkfifo(root / "d/a")
            case "folder":
                plant(root, {"d/a/x.o": b"ignored"})
            case "link":
                (root / "d/a").symlink_to(tmp_path / "outside/a")
            case "link above":
                (root / "d").rmdir()
                (root / "d").symlink_to(tmp_path / "outside")
            case "file above":
                (root / "d").rmdir()
                plant(root, {"d": b"mine"})
            case "huge":
                (root / "d/a").touch()
                os.truncate(root / "d/a", 1024**4)
        there = (root / "d/a").lstat().st_ino if os.path.lexists(root / "d/a") else None
        for force in (False, True):
            if kind == "link" and force:
                break
            with pytest.raises(NotReady, match=rf"(^|: ){named}\b"):
                workspace.store.undo(None, force=force)
            assert (root / "b").read_bytes() == b"new"
        assert (tmp_path / "outside/a").read_bytes() == b"canary"
        assert ((root / "d/a").lstat().st_ino if there else None) == there
        aside = "d/a" if kind in {"pipe", "folder", "link", "huge"} else "d"
        (root / aside).rename(tmp_path / "aside")
        undone = workspace.store.undo(None, force=True)
        assert undone.paths == ("b", "d/a")
        assert ((root / "d/a").read_bytes(), (root / "b").read_bytes()) == (b"old", b"old")


def test_a_forced_undo_replaces_a_link_and_redo_has_it(root, workspace, tmp_path, plant):
    (tmp_path / "outside").write_bytes(b"canary")
    plant(root, {"a": b"old"})
    wrote(workspace, "run", {"a": b"new"})
    (root / "a").unlink()
    (root / "a").symlink_to(tmp_path / "outside")
    assert undo(workspace, force=True) == ("a",)
    assert ((root / "a").is_symlink(), (root / "a").read_bytes()) == (False, b"old")
    workspace.store.redo()
    assert (root / "a").readlink() == tmp_path / "outside"
    assert (tmp_path / "outside").read_bytes() == b"canary"


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_a_build_made_beside_is_no_obstacle(root, workspace, plant, kind):
    plant(root, {"d/a": text()})
    wrote(workspace, "run", {"d/a": text(l3="r")})
    plant(root, {"d/a": text(l3="r", l9="mine")})
    if kind == "pipe":
        os.mkfifo(root / "d/.gitattributes")
    else:
        try:
            os.mknod(root / "d/.gitattributes", stat.S_IFCHR | 0o644, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
    assert undo(workspace) == ("d/a",)
    assert (root / "d/a").read_bytes() == text(l9="mine")


# --- which run ------------------------------------------------------------------------------------


def test_plain_undo_takes_back_the_latest_run_and_then_the_one_before(root, workspace, plant):
    with pytest.raises(NotReady, match="nothing to undo: no run has left changes here"):
        workspace.store.undo(None)
    plant(root, {"a": b"1", "b": b"1"})
    # Ordered by their start, not by their names, and not by their last entry.
    older = workspace.begin("run-9")
    older.begin()
    wrote(workspace, "run-10", {"b": b"2"})
    older.apply([Change("a", b"2")])
    assert workspace.store.undo(None).run == "run-10"
    assert workspace.store.undo(None).run == "run-9"
    with pytest.raises(NotReady, match="no run has left changes here"):
        workspace.store.undo(None)
    assert workspace.store.redo().run == "run-9"
    assert workspace.store.redo().run == "run-10"
    with pytest.raises(NotReady, match="no undo can be taken back"):
        workspace.store.redo()
    with pytest.raises(NotReady, match="no undo of the run run-3 can be taken back"):
        workspace.store.redo("run-3")
    with pytest.raises(NotReady, match="nothing to undo: run-3 changed no files"):
        workspace.store.undo("run-3")
    with workspace.begin("run-4").command():
        pass
    with pytest.raises(NotReady, match="nothing to undo: run-4 changed no files"):
        workspace.store.undo("run-4")


@pytest.mark.parametrize("reverted", ["all", "a"])
def test_what_a_person_put_back_by_hand_counts_as_undone(root, workspace, plant, reverted):
    plant(root, {"a": b"1", "b": b"1"})
    wrote(workspace, "one", {"a": b"2"})
    wrote(workspace, "two", {"a": b"3", "b": b"3"})
    plant(root, {"a": b"2"} | ({"b": b"1"} if reverted == "all" else {}))
    undone = workspace.store.undo(None)
    assert (undone.run, undone.paths + undone.already) == (
        "two",
        ("b", "a") if reverted == "a" else ("a", "b"),
    )
    assert workspace.store.undo(None)[:2] == ("one", ("a",))


@pytest.mark.parametrize("what", ["nothing", "the same", "moved back"])
def test_plain_undo_leaves_older_runs_alone_after_one_that_changed_nothing(
    root, workspace, plant, what
):
    plant(root, {"a": b"1"})
    wrote(workspace, "one", {"a": b"2"})
    run = workspace.begin("two")
    if what == "the same":
        assert run.apply([Change("a", b"2")]).differences == {}
    elif what == "moved back":
        with run.trial():
            run.apply([Change("a", b"3")])
    else:
        run.begin()
    with pytest.raises(NotReady, match="the latest run, two, changed nothing that is there") as no:
        workspace.store.undo(None)
    assert no.value.hint == "`code-commit undo RUN` takes back an earlier one"
    assert undo(workspace, "one") == ("a",)
    assert (root / "a").read_bytes() == b"1"


@pytest.mark.parametrize(
    "changes", [{"a": b"2", "new": b"2", ":(top)b": b"2", ":(x)": b"2"}, {"a": None}]
)
def test_plain_undo_leaves_committed_work_alone(root, workspace, plant, git, changes):
    plant(root, {"a": b"1", "b": b"1"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    wrote(workspace, "run", changes)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "work")
    plant(root, {"b": b"mine"})
    with pytest.raises(NotReady, match="the latest run, run, are in the last commit") as caught:
        workspace.store.undo(None)
    assert caught.value.hint == (
        "`git revert` reverts that commit; `code-commit undo run` takes them back in the files"
    )
    assert undo(workspace, "run") == tuple(sorted(changes))
    assert (root / "a").read_bytes() == b"1"


def test_plain_undo_tells_committed_work_from_files_as_in_the_last_commit(
    root, workspace, plant, git, monkeypatch
):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-02-02T02:02:02Z")
    plant(root, {"a": b"1"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    plant(root, {"a": b"mine", "untracked": b"mine"})
    run = wrote(workspace, "run", {"a": b"1"})
    with run.command():
        (root / "untracked").unlink()
    assert undo(workspace) == ("a", "untracked")
    assert (root / "a").read_bytes() == b"mine"


def test_plain_undo_leaves_committed_work_alone_that_git_converts(root, workspace, plant, git):
    plant(root, {"a": b"1\r\n", ".gitattributes": b"a text eol=crlf\n"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    wrote(workspace, "run", {"a": b"2\r\n"})
    git(root, "commit", "--quiet", "--all", "-m", "work")
    with pytest.raises(NotReady, match="are in the last commit"):
        workspace.store.undo(None)
    assert undo(workspace, "run") == ("a",)


def test_plain_undo_leaves_work_alone_that_was_committed_after_a_kill(root, opened, plant, git):
    plant(root, {"a": b"1"})
    with opened(root) as workspace:
        run = workspace.begin("run")
        run.begin()
        run.log.add(Entry("running", now(), run.latest.tree))
    plant(root, {"a": b"mine", "own": b"mine"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "work")
    with opened(root) as workspace:
        assert workspace.recovered == (
            "the run run was killed: what changed since its last command began counts as the "
            "run's: a, own"
        )
        with pytest.raises(NotReady, match="are in the last commit"):
            workspace.store.undo(None)
    assert (root / "own").read_bytes() == b"mine"


@pytest.mark.parametrize("umask", [0o002, 0o077])
def test_permission_bits_of_a_umask_are_nobodys_change(root, workspace, plant, umask):
    before = os.umask(umask)
    try:
        plant(root, {"a": b"1"})
        run = workspace.begin("run")
        moment = run.moment()
        run.apply([Change("a", b"2"), Change("new", b"1")])
        with run.command():
            plant(root, {"a": b"3"})
        run.apply([Change("new", b"2"), Change("a", b"4")])
        assert run.since([moment]).by_people == frozenset()
        undone = workspace.store.undo(None)
    finally:
        os.umask(before)
    assert (undone.paths, undone.merged) == (("a", "new"), ())


def test_a_damaged_moment_is_skipped(root, workspace, plant):
    plant(root, {"a": b"1"})
    run = wrote(workspace, "run", {"a": b"2"})
    assert run.since(["run:x", "run:0"]).written == {"a"}
    with pytest.raises(NotReady, match="the logs of the work are gone"):
        run.since(["run:-1"])


def test_work_before_the_first_commit_can_be_undone(root, workspace, plant):
    plant(root, {"a": b"1"})
    wrote(workspace, "run", {"a": None})
    assert undo(workspace) == ("a",)


def test_undo_works_below_the_top_and_without_a_repository(tmp_path, opened, plant, git):
    git(tmp_path, "init", "--quiet")
    plant(tmp_path, {"low/d/a": text(), "low/.gitignore": b"agent-config\n"})
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    for repository in ("required", "private"):
        with opened(tmp_path / "low", repository=repository) as workspace:
            wrote(workspace, f"run-{repository}", {"d/a": text(l3="r")}, {"d/a": text()})
            plant(tmp_path, {"low/d/a": text(l3="r", l9="mine")})
            assert undo(workspace) == ("d/a",)
        assert (tmp_path / "low/d/a").read_bytes() == text(l9="mine")
        plant(tmp_path, {"low/d/a": text()})
        shutil.rmtree(tmp_path / ".git", ignore_errors=True)


def test_what_the_users_git_deleted_can_be_undone(root, workspace, plant, git):
    plant(root, {"a": text(), "b": b"staged"})
    git(root, "add", "--all")
    run = wrote(workspace, "run", {"a": text(l3="r")}, {"a": text()})
    with run.command():
        (root / "b").unlink()
    shutil.rmtree(root / ".git/objects")
    (root / ".git/objects").mkdir()
    plant(root, {"a": text(l3="r", l9="mine")})
    undo(workspace)
    assert ((root / "a").read_bytes(), (root / "b").read_bytes()) == (text(l9="mine"), b"staged")


def test_moments_of_runs_make_one_work(root, workspace, plant):
    plant(root, {"a": text(), "b": text(), "c": b"1"})
    first = wrote(workspace, "one", {"a": text(l0="before")})
    moment = first.moment()
    first.apply([Change("a", text(l0="before", l3="r"))])
    second = workspace.begin("two")
    beginning = second.moment()
    plant(root, {"a": text(l0="before", l3="r", l6="mine"), "own": b"mine"})
    second.note("person")
    second.apply([Change("a", text(l0="before", l3="r", l6="mine", l9="r2"))])
    with second.command():
        plant(root, {"c": b"2"})
    work = second.since([moment, beginning])
    assert (work.written, work.by_commands) == ({"a"}, {"c"})
    assert work.by_people == {"a", "own"}
    assert work.originals(["a", "c", "b"]) == {"a": text(l0="before", l6="mine"), "c": b"1"}
    assert [diff.path for diff in work.diffs(["a", "b"], most=9999)] == ["a"]
    workspace.store.forget(["one"])
    assert second.since([moment, beginning]).written == {"a"}
    with pytest.raises(NotReady, match="the logs of the work are gone"):
        second.since([moment])
