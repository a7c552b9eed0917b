"""A set of changes is applied completely or not at all: the main path, modes, folders, refusals."""

import errno
import fcntl
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.journal import Journal
from code_commit_workspace.move.lock import ProjectLock
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write

HANDLES = Path("/proc/self/fd")


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / "agent-config").mkdir(parents=True)
    return root


@pytest.fixture
def tree(root):
    with ProjectTree(root) as tree:
        yield tree


def home(root: Path) -> Path:
    return root / "agent-config" / ".code-commit"


def plant(root: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def picture(root: Path) -> dict[str, object]:
    """Everything visible below `root`: content or target, permission bits; folders too."""
    seen: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] == "agent-config":
            continue
        status = path.lstat()
        if path.is_symlink():
            seen[name] = ("link", path.readlink().as_posix())
        elif path.is_dir():
            seen[name] = ("folder", stat.S_IMODE(status.st_mode))
        else:
            seen[name] = ("file", path.read_bytes(), stat.S_IMODE(status.st_mode))
    return seen


def left_in_journal(root: Path) -> list[str]:
    return sorted(path.name for path in (home(root) / "journal").iterdir())


def run(tree: ProjectTree, root: Path, changes: dict[str, bytes | None], **more) -> None:
    replace(tree, home(root), [Write(path, content) for path, content in changes.items()], **more)


def test_files_are_made_changed_and_removed(root, tree):
    plant(root, {"a.txt": b"old\n", "b.txt": b"gone\n", "same.txt": b"same\n"})
    before = (root / "same.txt").stat()
    run(
        tree,
        root,
        {
            "a.txt": b"new\r\n",
            "b.txt": None,
            "c/d/e.txt": b"",
            "absent.txt": None,
            "same.txt": b"same\n",
        },
    )
    assert (root / "a.txt").read_bytes() == b"new\r\n"
    assert not (root / "b.txt").exists()
    assert (root / "c/d/e.txt").read_bytes() == b""
    after = (root / "same.txt").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert left_in_journal(root) == []
    assert sorted(picture(root)) == ["a.txt", "c", "c/d", "c/d/e.txt", "same.txt"]


def test_folders_that_lose_their_last_file_go_and_others_stay(root, tree):
    plant(root, {"a/b/c.txt": b"1", "a/keep.txt": b"2", "x/y/z.txt": b"3", "m/n.txt": b"4"})
    (root / "empty").mkdir()
    (root / "m/empty").mkdir()
    run(tree, root, {"a/b/c.txt": None, "x/y/z.txt": None, "empty/none.txt": None, "m/n.txt": None})
    assert sorted(picture(root)) == ["a", "a/keep.txt", "empty", "m", "m/empty"]


def test_a_folder_that_gets_a_file_in_the_same_set_is_not_replaced(root, tree):
    plant(root, {"a/old.txt": b"1"})
    before = (root / "a").stat().st_ino
    run(tree, root, {"a/old.txt": None, "a/new.txt": b"2"})
    assert (root / "a").stat().st_ino == before


def test_file_and_folder_swap_places(root, tree):
    plant(root, {"a": b"file\n", "b/c/d.txt": b"deep\n", "b/e.txt": b"x"})
    (root / "b/hollow").mkdir()
    run(tree, root, {"a": None, "a/x/y.txt": b"1", "b/c/d.txt": None, "b/e.txt": None, "b": b"2"})
    assert (root / "a/x/y.txt").read_bytes() == b"1"
    assert (root / "b").read_bytes() == b"2"


@pytest.mark.parametrize("mode", [0o444, 0o600, 0o644, 0o755, 0o640])
def test_a_changed_file_keeps_its_mode(root, tree, mode):
    plant(root, {"f": b"old"})
    (root / "f").chmod(mode)
    run(tree, root, {"f": b"new"})
    assert stat.S_IMODE((root / "f").stat().st_mode) == mode
    assert (root / "f").read_bytes() == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("across_a_mount", [False, True])
def test_a_changed_file_keeps_its_owner_and_group(root, tree, monkeypatch, across_a_mount):
    rename = os.rename

    def across(source: str, target: str, **folders: int) -> None:
        if across_a_mount and source.startswith("new-"):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", across)
    plant(root, {"a.txt": b"old"})
    os.chown(root / "a.txt", 12345, 23456)
    run(tree, root, {"a.txt": b"new"})
    status = (root / "a.txt").stat()
    assert (status.st_uid, status.st_gid) == (12345, 23456)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_new_file_takes_the_group_that_its_folder_hands_down(root, tree):
    (root / "shared").mkdir()
    os.chown(root / "shared", -1, 23456)
    (root / "shared").chmod(0o2775)
    run(tree, root, {"shared/a.txt": b"1", "shared/below/b.txt": b"2", "c.txt": b"3"})
    groups = [
        (root / path).stat().st_gid for path in ("shared/a.txt", "shared/below/b.txt", "c.txt")
    ]
    assert groups == [23456, 23456, os.getegid()]


@pytest.mark.parametrize(
    ("umask", "file", "folder"), [(0o022, 0o644, 0o755), (0o077, 0o600, 0o700), (0, 0o666, 0o777)]
)
def test_a_new_file_takes_what_the_umask_allows(root, tree, umask, file, folder):
    before = os.umask(umask)
    try:
        run(tree, root, {"d/f": b"new"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "d/f").stat().st_mode) == file
    assert stat.S_IMODE((root / "d").stat().st_mode) == folder
    assert stat.S_IMODE(home(root).stat().st_mode) == 0o700


def test_the_other_name_of_a_hard_link_keeps_its_content(root, tree):
    plant(root, {"a": b"old"})
    os.link(root / "a", root / "b")
    run(tree, root, {"a": b"new"})
    assert ((root / "a").read_bytes(), (root / "b").read_bytes()) == (b"new", b"old")


@pytest.mark.parametrize(
    "changes",
    [
        {"a.txt": b"new", "linked/x": b"x"},
        {"a.txt": b"new", "linked/x": None},
        {"a.txt": b"new", "pipe": b"x"},
        {"a.txt": b"new", "full": b"x"},
        {"a.txt": b"new", "full": None},
        {"a.txt": b"new", "a.txt/b": b"x"},
        {"a.txt": b"new", "file/b": b"x"},
        {"a.txt": b"new", ".git/config": b"x"},
        {"a.txt": b"new", "sub/.GIT/config": b"x"},
        {"a.txt": b"new", "agent-config/config.toml": b"x"},
        {"a.txt": b"new", "../out": b"x"},
        {"a.txt": b"new", "/out": b"x"},
        {"a.txt": b"new", "n\0ul": b"x"},
    ],
)
def test_what_is_in_the_way_is_refused_before_the_first_write(root, tree, tmp_path, changes):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"canary")
    plant(root, {"a.txt": b"old", "full/f": b"1", "file": b"2"})
    (root / "linked").symlink_to(outside)
    os.mkfifo(root / "pipe")
    steps: list[str] = []
    with pytest.raises(NotReady):
        run(tree, root, changes, step=steps.append)
    assert steps == []
    assert (root / "a.txt").read_bytes() == b"old"
    assert [path.name for path in outside.iterdir()] == ["x"]
    assert (outside / "x").read_bytes() == b"canary"


def test_links_are_made_replaced_and_removed_and_never_followed(root, tree, tmp_path):
    plant(root, {"to-link": b"1"})
    (root / "to-file").symlink_to("anywhere")
    (root / "to-folder").symlink_to(tmp_path)
    (root / "to-nothing").symlink_to("/")
    (root / "as-wanted").symlink_to("there")
    before = (root / "as-wanted").lstat().st_ino
    replace(
        tree,
        home(root),
        [
            Write("to-link", b"../target", link=True),
            Write("to-file", b"content", mode=0o755),
            Write("to-folder", None),
            Write("to-folder/x", b"2"),
            Write("to-nothing", None),
            Write("as-wanted", b"there", link=True),
        ],
    )
    assert (root / "as-wanted").lstat().st_ino == before
    assert (root / "to-link").readlink() == Path("../target")
    assert picture(root)["to-file"] == ("file", b"content", 0o755)
    assert (root / "to-folder/x").read_bytes() == b"2"
    assert not (root / "to-nothing").is_symlink()
    assert not (tmp_path / "x").exists()


def test_an_error_names_the_file_and_its_cause_and_puts_all_back(root, tree):
    plant(root, {"a": b"1", "b/c": b"2", "d": b"3"})
    before = picture(root)
    times = {
        path: ((root / path).stat().st_ino, (root / path).stat().st_mtime_ns)
        for path in ("a", "b/c", "d")
    }

    def full(what: str) -> None:
        if what == "rename d":
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NotReady, match="d could not be written: No space left on device"):
        run(tree, root, {"a": None, "b/c": b"new", "b/n/m": b"new", "d": b"new"}, step=full)
    assert picture(root) == before
    assert times == {
        path: ((root / path).stat().st_ino, (root / path).stat().st_mtime_ns) for path in times
    }
    assert left_in_journal(root) == []


def test_an_interrupt_puts_all_back(root, tree):
    plant(root, {"a": b"1", "b": b"2"})
    before = picture(root)

    def interrupt(what: str) -> None:
        if what == "rename b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tree, root, {"a": b"new", "b": b"new"}, step=interrupt)
    assert picture(root) == before


@pytest.mark.parametrize(
    ("content", "step", "done"), [(b"new", "rename b", "written"), (None, "unlink b", "removed")]
)
def test_a_file_that_somebody_saves_meanwhile_is_not_lost(root, tree, content, step, done):
    plant(root, {"a": b"1", "b": b"2"})

    def save(what: str) -> None:
        if what == step:
            (root / "b.tmp").write_bytes(b"mine")
            (root / "b.tmp").rename(root / "b")

    with pytest.raises(NotReady, match=f"b could not be {done}: "):
        run(tree, root, {"a": b"new", "b": content}, step=save)
    assert (root / "a").read_bytes() == b"1"
    assert (root / "b").read_bytes() == b"mine"
    assert left_in_journal(root) == []


def test_a_folder_that_somebody_moves_away_after_its_file_was_written_is_an_error(root, tree):
    plant(root, {"d/a.txt": b"old", "z.txt": b"old"})

    def step(what: str) -> None:
        if what == "rename z.txt":
            (root / "d").rename(root / "moved")

    with pytest.raises(NotReady, match=r"^d/a\.txt could not be found in its place again"):
        run(tree, root, {"d/a.txt": b"new", "z.txt": b"new"}, step=step)
    (root / "moved").rename(root / "d")
    assert recover(tree, home(root))
    assert {path.read_bytes() for path in (root / "d/a.txt", root / "z.txt")} == {b"old"}


def test_a_planted_link_in_place_of_the_state_folder_is_refused(root, tree, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "agent-config").rmdir()
    (root / "agent-config").symlink_to(outside)
    with pytest.raises(NotReady, match="state folder"):
        run(tree, root, {"a": b"new"})
    with pytest.raises(NotReady, match="state folder"), ProjectLock(home(root)):
        pass
    assert not list(outside.iterdir())


def test_the_lock_is_held_by_one_run_and_says_by_which(root):
    program = """\
import pathlib
import sys
from code_commit_workspace.move.lock import ProjectLock

with ProjectLock(pathlib.Path(sys.argv[1])) as lock:
    lock.name("run-1")
    print("held", flush=True)
    sys.stdin.read()
"""
    holder = subprocess.Popen(
        [sys.executable, "-c", program, home(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(
            NotReady, match=f"another run is using this project.*process {holder.pid}, run run-1"
        ):
            ProjectLock(home(root)).__enter__()
        holder.kill()
    with ProjectLock(home(root)) as lock:
        lock.name("a longer name")
        lock.name("")
        assert json.loads((home(root) / "lock").read_bytes()) == {"pid": os.getpid(), "run": ""}
        with pytest.raises(
            NotReady, match=f"another run is using this project.*process {os.getpid()}$"
        ):
            ProjectLock(home(root)).__enter__()
    assert (home(root) / "lock").exists()


def test_only_this_account_can_open_the_lock(root):
    with ProjectLock(home(root)):
        assert stat.S_IMODE((home(root) / "lock").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b'{"pid": "x", "run": 1}', b'{"pid": 1, "run": "another"}', b"[" * 4096],
    ids=len,
)
def test_the_system_names_the_holder_of_a_lock_whose_file_does_not(root, text):
    with ProjectLock(home(root)):
        (home(root) / "lock").write_bytes(text)
        with pytest.raises(NotReady, match=rf"using this project: process {os.getpid()}$"):
            ProjectLock(home(root)).__enter__()


def test_a_pipe_in_place_of_the_lock_is_named(root):
    home(root).mkdir()
    os.mkfifo(home(root) / "lock")
    with pytest.raises(
        NotReady, match=re.escape(f"the lock {home(root)}/lock is a named pipe, not a file")
    ):
        ProjectLock(home(root)).__enter__()


def test_a_file_system_that_cannot_lock_is_named(root, monkeypatch):
    def fail(*_args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(
        NotReady, match=re.escape(f"the lock {home(root)}/lock cannot be taken: No locks available")
    ):
        ProjectLock(home(root)).__enter__()


@pytest.mark.skipif(not HANDLES.is_dir(), reason="looks for open handles in /proc")
def test_a_state_folder_that_cannot_be_opened_leaves_no_handle_open(root):
    home(root).symlink_to(root)
    before = len(list(HANDLES.iterdir()))
    with pytest.raises(NotReady, match="state folder"):
        ProjectLock(home(root)).__enter__()
    assert len(list(HANDLES.iterdir())) == before


def test_two_changes_at_once_do_not_mix(root, tree):
    plant(root, {"a": b"1"})
    caught: list[str] = []

    def second(what: str) -> None:
        if what == "rename a":
            with pytest.raises(NotReady) as error:
                run(tree, root, {"a": b"other"})
            caught.append(str(error.value))
            with pytest.raises(NotReady):
                recover(tree, home(root))

    run(tree, root, {"a": b"new"}, step=second)
    assert caught == ["another run is changing files of this project"]
    assert (root / "a").read_bytes() == b"new"


def test_a_thousand_files(root, tree):
    plant(root, {f"d{n % 10}/f{n}": b"old" for n in range(500)})
    run(tree, root, {f"d{n % 20}/f{n}": b"new" for n in range(1000)})
    assert all((root / f"d{n % 20}/f{n}").read_bytes() == b"new" for n in range(1000))


@pytest.mark.parametrize("lock", [ProjectLock, Journal])
def test_a_lock_ends_although_a_process_started_meanwhile_shares_its_handle(root, lock):
    with lock(home(root)):
        handles = [
            int(link.name)
            for link in Path("/proc/self/fd").iterdir()
            if leads_below(home(root), link)
        ]
        sharer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=handles)
    with sharer, lock(home(root)):
        assert len(handles) == 1


def leads_below(folder: Path, link: Path) -> bool:
    try:
        return link.readlink().is_relative_to(folder)
    except FileNotFoundError:  # the handle that lists the handles
        return False
