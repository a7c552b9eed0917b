"""The private caches of the sandbox end: those of projects that are gone, and those that nobody
uses.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.process.sandbox.private_folders import PrivateFolders
from code_commit_workspace.records import ProcessResult

pytestmark = pytest.mark.usefixtures("bubblewrap")

DAY = 24 * 60 * 60


@pytest.fixture
def place(sandbox_home: Path) -> Path:
    return sandbox_home / ".cache/code-commit/sandbox"


@pytest.fixture
def make_cache(place: Path, sandbox_home: Path) -> Callable[..., Path]:
    """Make the private folders of a project, last used some days ago, and return the folder of all
    of them.
    """

    def make(name: str, *, days: float, gone: bool = False, running: bool = False) -> Path:
        root = sandbox_home / name
        root.mkdir()
        private = PrivateFolders(str(root), os.environ)
        folder = Path(private.cache).parent
        Path(private.cache, "made").touch()
        if running:
            still_open.append(private)
        else:
            private.close()
        if gone:
            root.rmdir()
        os.utime(folder, (time.time() - days * DAY,) * 2)
        return folder

    still_open: list[PrivateFolders] = []
    return make


def wait_for_the_search() -> None:
    for thread in threading.enumerate():
        if thread.name == "old caches":
            thread.join()


def test_old_caches_are_removed_at_a_start(
    sandboxed: Callable[..., ProcessResult], place: Path, make_cache: Callable[..., Path]
) -> None:
    remaining = [
        make_cache("used", days=29),
        make_cache("running", days=40, running=True),
        make_cache("gone today", days=0.5, gone=True),
    ]
    removed = [make_cache("not used", days=31), make_cache("gone", days=2, gone=True)]
    (removed[0] / "cache/closed").mkdir(mode=0o500)
    (place / "f" / "cache").mkdir(parents=True)  # not one of ours
    os.utime(place / "f", (0, 0))

    assert sandboxed("touch ~/.cache/mine").passed
    wait_for_the_search()

    assert [folder for folder in remaining if not (folder / "cache/made").exists()] == []
    assert [folder for folder in removed if folder.exists()] == []
    assert (place / "f/cache").exists()
    assert list(place.glob("removed-*")) == []
    assert sandboxed("test -e ~/.cache/mine").passed


def test_caches_are_looked_at_once_a_day(
    sandboxed: Callable[..., ProcessResult], place: Path, make_cache: Callable[..., Path]
) -> None:
    assert sandboxed("true").passed
    wait_for_the_search()
    old = make_cache("not used", days=31)

    assert sandboxed("true").passed
    wait_for_the_search()
    assert old.exists()

    os.utime(place / "looked-for-old-ones", (time.time() - 2 * DAY,) * 2)
    assert sandboxed("true").passed
    wait_for_the_search()
    assert not old.exists()


def test_a_link_in_the_place_of_a_cache_is_left_alone(
    sandboxed: Callable[..., ProcessResult], place: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/kept").touch()
    place.mkdir(parents=True)
    (place / "0123456789abcdef").symlink_to(tmp_path / "other")
    (place / "removed-x").symlink_to(tmp_path / "other")
    (tmp_path / "other").chmod(0o500)
    os.utime(tmp_path / "other", (0, 0))

    assert sandboxed("true").passed
    wait_for_the_search()

    assert (place / "0123456789abcdef").is_symlink()
    assert (tmp_path / "other/kept").exists()
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o500


def test_nothing_is_removed_while_a_run_begins(
    sandboxed: Callable[..., ProcessResult], place: Path, make_cache: Callable[..., Path]
) -> None:
    old = make_cache("old", days=40)
    handle = os.open(place, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    sandboxed("true")
    wait_for_the_search()
    os.close(handle)
    assert old.exists()
