"""What cannot be restored after a failed or interrupted change is named, with the reason."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write


@pytest.fixture
def root(tmp_path):
    (tmp_path / "agent-config").mkdir()
    (tmp_path / "a").write_text("old")
    (tmp_path / "d").mkdir()
    return tmp_path


def change(root, step):
    writes = [Write("a", b"new"), Write("d/n", b"new"), Write("d/z", b"new")]
    with ProjectTree(root) as tree:
        replace(tree, root / "agent-config/.code-commit", writes, step=step)


def recovered(root, step=lambda _what: None):
    with ProjectTree(root) as tree:
        return recover(tree, root / "agent-config/.code-commit", step=step)


def fails(_what):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("instead", ["is gone", "is no longer a folder"])
def test_a_folder_that_somebody_took_away_is_named(root, instead):
    (root / "d/z").write_text("old")
    if not os.fork():
        change(root, lambda what: os._exit(0) if what == "rename d/z" else None)
        os._exit(1)
    assert os.wait()[1] == 0
    shutil.rmtree(root / "d")
    if "longer" in instead:
        (root / "d").write_text("mine")
    reason = "d is no longer a folder" if "longer" in instead else "the folder d is gone"
    with pytest.raises(NotReady, match=rf"d/n \({reason}\), d/z \({reason}\)$"):
        recovered(root)
    assert (root / "a").read_text() == "old"


@pytest.mark.parametrize("later", ["clear d/n", "flush"])
def test_a_disk_that_fails_while_files_are_restored_is_the_reason(root, later):
    def step(what):
        if what in {"rename d/z", later}:
            fails(what)

    with pytest.raises(
        NotReady,
        match=r"Input/output error; and some files could not be restored: .*Input/output error",
    ) as caught:
        change(root, step)
    assert (
        caught.value.hint
        == "the journal is kept: fix the cause, then run again to restore the rest"
    )
    assert recovered(root) is not None
    assert (root / "a").read_text() == "old"


def test_one_restored_file_is_counted(root):
    def step(what):
        if what in {"commit", "flush", "clear a"}:
            fails(what)

    with ProjectTree(root) as tree, pytest.raises(NotReady):
        replace(tree, root / "agent-config/.code-commit", [Write("a", b"new")], step=step)
    assert (
        recovered(root)
        == "an earlier run was interrupted while it changed 1 file: the project is restored"
    )


def test_a_journal_that_cannot_be_removed_is_named(root):
    journal = root / "agent-config/.code-commit/journal"
    change(root, lambda _what: None)
    (journal / "done").mkdir()
    with pytest.raises(NotReady, match=r"cannot be removed: .*Input/output error") as caught:
        recovered(root, fails)
    assert str(journal) in (caught.value.hint or "")


def test_what_stands_where_a_folder_is_needed_is_told(root):
    (root / "file").touch()
    (root / "link").symlink_to("d")
    os.mkfifo(root / "pipe")
    for path, message in {
        "file/n": "file/n cannot be changed: file is a file",
        "link/n": "link cannot be changed: it is a link",
        "pipe/n": "pipe cannot be changed: it is not a folder",
    }.items():
        with pytest.raises(NotReady) as error, ProjectTree(root) as tree:
            replace(
                tree, root / "agent-config/.code-commit", [Write("a", b"new"), Write(path, b"new")]
            )
        assert error.value.message == message
        assert (root / "a").read_text() == "old"
