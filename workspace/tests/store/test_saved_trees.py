"""A saved tree is compared and copied; some paths of a run are undone."""

from __future__ import annotations

import hashlib
import re

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.store import snapshot

RUN = "2025-01-02-03-04-05-committing-code"


@pytest.fixture
def saved(root, checkpoints, plant):
    """Two checkpoints: `kept` stays, `gone` is removed, `changed` changed, `new` added."""
    plant(root, {"kept": b"k", "d/gone": b"g", "d/changed": b"1", "run.sh": b"x"})
    (root / "run.sh").chmod(0o755)
    start = checkpoints.take(RUN, "start")
    plant(root, {"d/gone": None, "d/changed": b"2", "e/new": b"n"})
    return start, checkpoints.take(RUN, "end")


def test_what_takes_long_to_save_is_announced_once(root, checkpoints, plant, monkeypatch):
    monkeypatch.setattr(snapshot, "_MUCH", 1000)
    plant(root, {"large": b"x" * 1000, "small": b"1"})
    announced = []
    for content in (b"1", b"2"):
        plant(root, {"small": content})
        checkpoints.take(RUN, "start", warn=announced.append)
    assert announced == [
        "saving 0.0 GB for `undo`; the largest file that git does not ignore is large"
    ]


def test_what_the_new_tree_has_of_the_changes(checkpoints, saved):
    start, end = saved
    assert checkpoints.changes(start, end) == ("d/changed", "d/gone", "e/new")
    assert checkpoints.written(start, end) == ("d/changed", "e/new")
    assert checkpoints.written(end, start) == ("d/changed", "d/gone")
    assert checkpoints.written(end, end) == ()


def test_a_listing_has_mode_and_content_by_path(checkpoints, saved):
    def of(content):
        return hashlib.sha1(
            b"blob %d\0%s" % (len(content), content), usedforsecurity=False
        ).hexdigest()

    listing = checkpoints.listing(saved[0])
    assert {path: listing[path] for path in ("kept", "d/gone", "run.sh")} == {
        "kept": f"100644 {of(b'k')}",
        "d/gone": f"100644 {of(b'g')}",
        "run.sh": f"100755 {of(b'x')}",
    }
    assert set(listing) == {".gitignore", "kept", "d/gone", "d/changed", "run.sh"}


def test_a_diff_of_too_much_is_refused(checkpoints, saved):
    for diff in (checkpoints.diff, checkpoints.patch):
        whole = diff(*saved)
        assert diff(*saved, most=len(whole)) == whole
        with pytest.raises(NotReady, match="the diff is larger than 0 MiB"):
            diff(*saved, most=len(whole) - 1)


def test_a_copy_has_every_file_of_the_checkpoint(checkpoints, saved, tmp_path):
    into = tmp_path / "copy"
    into.mkdir()
    with ProjectTree(into) as tree:
        checkpoints.copy(saved[0], tree, into / "agent-config/.code-commit")
    assert (into / "d/gone").read_bytes() == b"g"
    assert (into / "d/changed").read_bytes() == b"1"
    assert (into / "run.sh").stat().st_mode & 0o111
    assert not (into / "e").exists()


def test_undo_of_some_paths_leaves_the_others(root, checkpoints, saved):
    assert checkpoints.undo(RUN, ["./d/gone", "e"]).paths == ("d/gone", "e/new")
    assert (root / "d/changed").read_bytes() == b"2"
    assert checkpoints.undo(RUN, ["d/"]).paths == ("d/changed",)
    with pytest.raises(NotReady) as caught:
        checkpoints.undo(RUN, ["d", "kept"])
    assert caught.value.message == f"the run {RUN} changed nothing at kept"
    assert caught.value.hint == "nothing was undone; it changed d/changed, d/gone, e/new"
    with pytest.raises(NotReady, match=re.escape(f"the run {RUN} changed nothing at e/ne")):
        checkpoints.undo(RUN, ["e/ne"])


def test_undo_below_the_top_is_undo_of_all(root, checkpoints, saved):
    assert checkpoints.undo(RUN, ["."]).paths == ("d/changed", "d/gone", "e/new")
    assert (root / "d/gone").exists()
