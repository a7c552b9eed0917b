"""Killed, refused or out of space at any step: the project is completely old or completely new."""

import errno
import os
import random
import signal
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write

# A server thread of another test may still exist; the child does not use it.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

SPARSE = pytest.mark.parametrize("stride", [5, pytest.param(2, marks=pytest.mark.slow)])
EXAMPLES = int(os.environ.get("CODE_COMMIT_MOVE_EXAMPLES", "30"))

Entry = tuple[object, ...]
Shape = dict[str, Entry]  # path → ("file", content, mode) | ("link", target) | ("folder",)


def plant(root: Path, shape: Shape) -> None:
    for path, entry in sorted(shape.items()):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry[0] == "file":
            place.write_bytes(entry[1])
            place.chmod(entry[2])
        elif entry[0] == "link":
            place.symlink_to(entry[1])
        else:
            place.mkdir(exist_ok=True)


def picture(root: Path) -> Shape:
    """Return everything below `root` except the state folder, including folders."""
    seen: Shape = {}
    for folder, folders, files in os.walk(root):
        folders[:] = {*folders} - {"agent-config"}
        for name in (*folders, *files):
            path = Path(folder, name)
            short = path.relative_to(root).as_posix()
            if path.is_symlink():
                seen[short] = ("link", str(path.readlink()))
            elif path.is_dir():
                seen[short] = ("folder", stat.S_IMODE(path.lstat().st_mode))
            else:
                seen[short] = ("file", path.read_bytes(), stat.S_IMODE(path.lstat().st_mode))
    return seen


def home(root: Path) -> Path:
    return root / "agent-config" / ".code-commit"


def made(parent: Path, shape: Shape) -> Path:
    root = Path(tempfile.mkdtemp(dir=parent))
    (root / "agent-config").mkdir()
    plant(root, shape)
    return root


OLD: Shape = {
    "a.txt": ("file", b"old a\n", 0o644),
    "tool": ("file", b"#!/bin/sh\n", 0o755),
    "readonly": ("file", b"never\n", 0o444),
    "file": ("file", b"becomes a folder\n", 0o600),
    "folder/x/y.txt": ("file", b"becomes a file\n", 0o644),
    "folder/hollow": ("folder",),
    "gone/deep/z.txt": ("file", b"z\n", 0o640),
    "stays/z.txt": ("file", b"z\n", 0o644),
    "stays/hollow": ("folder",),
    "link": ("link", "a.txt"),
    "untouched": ("file", b"u\n", 0o644),
}
WRITES = [
    Write("a.txt", b"new a\n"),
    Write("tool", b"#!/bin/bash\n"),
    Write("readonly", b"now\n"),
    Write("file", None),
    Write("file/in/it.txt", b"1\n"),
    Write("folder/x/y.txt", None),
    Write("folder", b"2\n"),
    Write("gone/deep/z.txt", None),
    Write("stays/z.txt", None),
    Write("link", b"tool", link=True),
    Write("made/new.txt", b"3\n", mode=0o600),
    Write("untouched", b"u\n"),
]


class Steps:
    """Counts the steps and does something at one of them."""

    def __init__(self, at: int, then: Callable[[], None]) -> None:
        self.at = at
        self.then = then
        self.count = 0

    def __call__(self, what: str) -> None:
        self.count += 1
        if self.count - 1 == self.at:
            self.then()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[], object]) -> bool:
    """Do `work` in a process that may die; return whether it finished."""
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the parent looks at the exit code
            os._exit(1)
    code = os.waitpid(child, 0)[1]
    assert code in {0, signal.SIGKILL}, code
    return code == 0


def apply_killed(root: Path, writes: list[Write], at: int) -> bool:
    with ProjectTree(root) as tree:
        return in_child(lambda: replace(tree, home(root), writes, step=Steps(at, die)))


def recover_killed(root: Path, at: int) -> bool:
    with ProjectTree(root) as tree:
        return in_child(lambda: recover(tree, home(root), step=Steps(at, die)))


def recovered(root: Path) -> Shape:
    with ProjectTree(root) as tree:
        recover(tree, home(root))
        assert recover(tree, home(root)) is None
    assert not list((home(root) / "journal").iterdir())
    return picture(root)


def old_and_new(parent: Path, shape: Shape, writes: list[Write]) -> tuple[Shape, Shape, int]:
    root = made(parent, shape)
    old = picture(root)
    steps = Steps(-1, die)
    with ProjectTree(root) as tree:
        replace(tree, home(root), writes, step=steps)
    return old, picture(root), steps.count


def test_a_kill_at_every_step_leaves_the_old_or_the_new(tmp_path):
    old, new, steps = old_and_new(tmp_path, OLD, WRITES)
    ends = []
    for at in range(steps):
        root = made(tmp_path, OLD)
        assert not apply_killed(root, WRITES, at)
        end = recovered(root)
        assert end in (old, new), at
        ends.append(end == new)
    assert ends == sorted(ends)
    assert {*ends} == {False, True}


@SPARSE
def test_a_kill_at_every_step_of_the_recovery_too(tmp_path, stride):
    old, new, steps = old_and_new(tmp_path, OLD, WRITES)
    for at in range(steps - 3, 0, -steps // 2):
        again = 0
        while True:
            root = made(tmp_path, OLD)
            apply_killed(root, WRITES, at)
            if recover_killed(root, again):
                break
            recover_killed(root, again // 2)
            assert recovered(root) in (old, new), (at, again)
            again += stride


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EIO])
def test_an_error_at_every_step_leaves_the_old_or_the_new(tmp_path, number):
    old, new, steps = old_and_new(tmp_path, OLD, WRITES)
    for at in range(0, steps - 1, 1 if number == errno.ENOSPC else 7):
        root = made(tmp_path, OLD)

        def fail() -> None:
            raise OSError(number, os.strerror(number))

        with ProjectTree(root) as tree, pytest.raises(NotReady, match=os.strerror(number)):
            replace(tree, home(root), WRITES, step=Steps(at, fail))
        assert picture(root) == old, at
        assert recovered(root) in (old, new)


def test_an_error_while_putting_back_is_mended_by_the_next_start(tmp_path):
    root = made(tmp_path, OLD)
    old = picture(root)

    def refuse(what: str) -> None:
        if what in {"rename made/new.txt", "put back tool"}:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with ProjectTree(root) as tree:
        with pytest.raises(NotReady, match=r"some files could not be restored: .*tool"):
            replace(tree, home(root), WRITES, step=refuse)
        assert {path for path, entry in picture(root).items() if old.get(path) != entry} == {"tool"}
        assert recover(tree, home(root)) is not None
    assert picture(root) == old


def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)


@SPARSE
def test_a_file_system_without_hard_links(tmp_path, monkeypatch, stride):
    without_links(monkeypatch)
    old, new, steps = old_and_new(tmp_path, OLD, WRITES)
    for at in range(0, steps, stride):
        root = made(tmp_path, OLD)
        time = (root / "a.txt").stat().st_mtime_ns
        apply_killed(root, WRITES, at)
        for copied in (home(root) / "journal").glob("*/old-*"):
            assert copied.is_symlink() or stat.S_IMODE(copied.stat().st_mode) == 0o600
        end = recovered(root)
        assert end == new or (end, (root / "a.txt").stat().st_mtime_ns) == (old, time), at


@SPARSE
def test_a_mount_between_journal_and_target(tmp_path, monkeypatch, stride):
    """Like a bind mount in the project: hard links and renames across it fail."""
    link, rename = os.link, os.rename

    def across(
        source: object, target: object, *, src_dir_fd: int, dst_dir_fd: int, **more: bool
    ) -> None:
        if os.fstat(src_dir_fd).st_ino != os.fstat(dst_dir_fd).st_ino and "staging" not in (
            source,
            target,
        ):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        (link if more else rename)(
            source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, **more
        )

    monkeypatch.setattr(os, "link", across)
    monkeypatch.setattr(os, "rename", across)
    old, new, steps = old_and_new(tmp_path, OLD, WRITES)
    for at in range(0, steps, stride):
        root = made(tmp_path, OLD)
        time = (root / "a.txt").stat().st_mtime_ns
        apply_killed(root, WRITES, at)
        assert recovered(root) == new or (picture(root), (root / "a.txt").stat().st_mtime_ns) == (
            old,
            time,
        ), at


def test_what_is_left_beside_its_place_across_a_mount_is_cleared_away(tmp_path, monkeypatch):
    root = made(tmp_path, {"d/f": ("file", b"old", 0o644)})
    rename = os.rename

    def across(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if source.startswith("new-"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        if source.startswith(".code-commit-"):
            die()
        rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", across)
    assert not apply_killed(root, [Write("d/f", b"new")], -1)
    assert len(list((root / "d").iterdir())) == 2
    monkeypatch.undo()
    assert recovered(root) == {"d": ("folder", 0o755), "d/f": ("file", b"old", 0o644)}


# --- random trees and changes, a plain dictionary as the oracle -----------------------------------
_names = st.sampled_from(["a", "b", "c d", "ü\n", "\udcff", "e" * 200])
_paths = st.lists(_names, min_size=1, max_size=3).map("/".join)
_contents = st.binary(max_size=40)
_files = st.dictionaries(
    _paths, st.tuples(_contents, st.sampled_from([0o644, 0o600, 0o755, 0o444])), max_size=8
)
_changes = st.dictionaries(_paths, st.none() | _contents, max_size=8)


def _folders(files: dict[str, object]) -> set[str]:
    return {path[:at] for path in files for at, sign in enumerate(path) if sign == "/"}


def _agree(files: dict[str, object]) -> dict[str, object]:
    """Drop files that are also a folder of another file."""
    return {path: entry for path, entry in files.items() if path not in _folders(files)}


def _expected(
    files: dict[str, tuple[bytes, int]], changes: dict[str, bytes | None]
) -> dict[str, tuple[bytes, int]] | None:
    """Return the files after the change, or None when it must be refused."""
    result = dict(files)
    for path, content in changes.items():
        if content is None:
            if path in _folders(files):
                return None
            result.pop(path, None)
    for path, content in changes.items():
        if content is not None:
            result[path] = (content, files[path][1] if path in files else 0o644)
    return result if _agree(result) == result else None


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(_files.map(_agree), _changes, st.randoms(use_true_random=False), st.booleans())
def test_random_trees_and_changes_killed_anywhere(files, changes, chance: random.Random, kill):
    shape: Shape = {path: ("file", *entry) for path, entry in files.items()}
    writes = [Write(path, content) for path, content in changes.items()]
    expected = _expected(files, changes)
    with tempfile.TemporaryDirectory() as name:
        root = made(Path(name), shape)
        old = picture(root)
        assert {path: entry[1:] for path, entry in old.items() if entry[0] == "file"} == files
        with ProjectTree(root) as tree:
            if expected is None:
                with pytest.raises(NotReady):
                    replace(tree, home(root), writes)
                assert picture(root) == old
                return
        if kill:
            apply_killed(root, writes, chance.randrange(30))
            end = recovered(root)
        else:
            with ProjectTree(root) as tree:
                replace(tree, home(root), writes)
            end = picture(root)
        ended = {path: entry[1:] for path, entry in end.items() if entry[0] == "file"}
        if kill and end == old:
            return
        assert ended == expected
        assert {path for path, entry in end.items() if entry[0] == "folder"} == _folders(expected)


# --- others at work in the project ----------------------------------------------------------------
@pytest.mark.parametrize("linked", [True, False])
def test_a_folder_moved_away_at_every_step_and_a_link_in_its_place(tmp_path, linked):
    shape: Shape = {
        "a": ("file", b"old", 0o644),
        "d/e/f": ("file", b"old", 0o644),
        "d/g": ("file", b"old", 0o644),
    }
    writes = [
        Write("a", b"new"),
        Write("d/e/f", b"new"),
        Write("d/g", None),
        Write("d/n/m", b"new"),
    ]
    old, new, steps = old_and_new(tmp_path, shape, writes)
    for at in range(steps):
        root = made(tmp_path, shape)
        outside = Path(tempfile.mkdtemp(dir=tmp_path))
        plant(outside, {"e/f": ("file", b"canary", 0o644), "g": ("file", b"canary", 0o644)})
        untouched = picture(outside)

        def swap(root: Path = root, outside: Path = outside) -> None:
            (root / "d").rename(root / "moved")
            if linked:
                (root / "d").symlink_to(outside)

        try:
            with ProjectTree(root) as tree:
                replace(tree, home(root), writes, step=Steps(at, swap))
        except NotReady:
            pass
        assert picture(outside) == untouched
        if linked:
            (root / "d").unlink()
        (root / "moved").rename(root / "d")
        assert recovered(root) in (old, new), at


def test_closed_journals_of_earlier_runs_are_in_nobodys_way(tmp_path):
    root = made(tmp_path, OLD)
    before = picture(root)
    assert not apply_killed(root, WRITES, 20)
    for stage in ("staging", "done"):
        (home(root) / "journal" / stage).mkdir()
        (home(root) / "journal" / stage / "old-0").write_bytes(b"left")
    assert recovered(root) == before
    (home(root) / "journal" / "done").write_bytes(b"no folder")
    assert recovered(root) == before


def test_what_was_edited_after_a_kill_is_named_and_kept(tmp_path):
    root = made(
        tmp_path,
        {"a": ("file", b"old", 0o644), "b": ("file", b"old", 0o644), "c": ("file", b"old", 0o644)},
    )
    writes = [Write("a", b"new"), Write("b", b"new"), Write("n", b"new"), Write("c", b"new")]

    def work() -> None:
        with ProjectTree(root) as tree:
            replace(
                tree, home(root), writes, step=lambda what: die() if what == "rename c" else None
            )

    assert not in_child(work)
    assert (root / "b").read_bytes() == b"new"
    (root / "b").write_bytes(b"mine")
    with ProjectTree(root) as tree:
        assert str(recover(tree, home(root))).endswith(
            "the project is restored, but for what was changed since: b"
        )
        assert recover(tree, home(root)) is None
    assert {path: entry[1] for path, entry in picture(root).items()} == {
        "a": b"old",
        "b": b"mine",
        "c": b"old",
    }
