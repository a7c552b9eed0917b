"""What this account may not read or write: errors in words, and nothing is lost."""

from __future__ import annotations

import os
import stat

import pytest

from code_commit_workspace import (
    Change,
    ChangeSetRefused,
    Git,
    NotReady,
    ProjectTree,
    Workspace,
    read_in_project,
)
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.survey import Write
from code_commit_workspace.process.hard_links import linked_elsewhere
from code_commit_workspace.process.integrity import IntegrityCheck

HOME = "agent-config/.workspace"


@pytest.fixture
def root(tmp_path, git_init):
    root = tmp_path / "project"
    for name in ("file", "closed/below", "open/below", f"{HOME}/lock", "build.sh"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"old")
    git_init(root)
    yield root
    for name in ("closed", "agent-config", HOME, f"{HOME}/journal"):
        if (root / name).exists():
            (root / name).chmod(0o700)


@pytest.fixture
def closed(root, no_privileges):
    """The project, with a folder and a file that its owner closed."""
    (root / "file").chmod(0)
    (root / "closed").chmod(0)
    return root


@pytest.mark.parametrize("content", [b"new", b"old", None])
def test_a_file_that_cannot_be_read_can_be_replaced_and_removed(closed, content):
    with ProjectTree(closed) as tree:
        replace(tree, closed / HOME, [Write("file", content), Write("made", b"new")])
    if content is None:
        assert not (closed / "file").exists()
    else:
        assert stat.S_IMODE((closed / "file").stat().st_mode) == 0
        (closed / "file").chmod(0o600)
        assert (closed / "file").read_bytes() == content


def test_a_file_that_cannot_be_kept_is_not_changed(closed, monkeypatch):
    def no_link(*_args, **_options):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    with ProjectTree(closed) as tree, pytest.raises(NotReady) as caught:
        replace(tree, closed / HOME, [Write("made", b"new"), Write("file", b"new")])
    assert (
        caught.value.message == "the change could not be staged in the journal: Permission denied"
    )
    assert caught.value.hint == "no file was changed; fix the cause, then run again"
    assert not (closed / "made").exists()
    assert list((closed / HOME / "journal").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([Write("open/sub/x", None), Write("open/sub", b"new")], "open/sub could not be removed"),
        ([Write("open/y", b"new")], "open/y could not be written"),
        ([Write("open/made/y", b"new")], "open/made could not be made"),
        ([Write("open/below", None)], "open/below could not be removed"),
        ([Write("closed/x", b"new")], "the change could not be inspected"),
    ],
)
def test_the_operation_that_is_not_permitted_is_named_and_undone(closed, changes, told):
    (closed / "open/sub").mkdir()
    (closed / "open/sub/x").write_bytes(b"old")
    (closed / "open").chmod(0o500)
    with ProjectTree(closed) as tree, pytest.raises(NotReady) as error:
        replace(tree, closed / HOME, [Write("build.sh", b"new"), *changes])
    assert error.value.message == f"{told}: Permission denied"
    contents = {(closed / name).read_bytes() for name in ("build.sh", "open/sub/x", "open/below")}
    assert (contents, len([*(closed / "open").iterdir()])) == ({b"old"}, 2)
    assert list((closed / HOME / "journal").iterdir()) == []
    (closed / "open").chmod(0o700)


def test_what_cannot_be_read_is_told_or_left_out(closed):
    for path in ("file", "closed/below"):
        with pytest.raises(NotReady, match=f"^{path} cannot be read: permission denied$"):
            read_in_project(closed, path, limit=9)
    with ProjectTree(closed) as tree:
        paths = ["closed/below", "file", "open/below"]
        assert dict(tree.contents(paths, 9)) == {
            "closed/below": None,
            "file": None,
            "open/below": b"old",
        }
    with Workspace.open(closed, writes=True, private_folder="agent-config") as workspace:
        look = workspace.store.look()
        assert set(workspace.store.listing(look.tree)) == {"build.sh", "open/below"}
        assert workspace.store.look().changed == frozenset()
        run = workspace.begin("run")
        with pytest.raises(NotReady, match=r"^file cannot be read: Permission denied$"):
            workspace.apply([Change("open/below", b"new"), Change("file", b"new")], run=run)


def test_a_project_that_a_build_closed_is_an_error_in_words(root, no_privileges):
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        run = workspace.begin("run")
        trial = run.trial()
        trial.__enter__()
        workspace.apply([Change("file", b"new")], run=run)
        root.chmod(0)
        for work in (
            lambda: trial.__exit__(None, None, None),
            lambda: run.note("process"),
            lambda: workspace.apply([Change("file", b"newer")], run=run),
            lambda: workspace.store.undo(None),
            lambda: Workspace.open(root, writes=True, private_folder="agent-config"),
        ):
            with pytest.raises((NotReady, ChangeSetRefused), match="Permission denied"):
                work()
    root.chmod(0o700)
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        assert workspace.recovered.startswith("the run run was killed: file moved back")
    assert (root / "file").read_bytes() == b"old"


def test_a_file_of_another_user_is_kept_if_it_can_be_read(root, request):
    if os.geteuid() == 0:
        for name, mode in (("file", 0o604), ("open/below", 0o600)):
            (root / name).chmod(mode)
            os.chown(root / name, 12345, 12345)
    request.getfixturevalue("no_privileges")
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        look = workspace.store.look()
        names = {"build.sh", "closed/below", "file", *(["open/below"] if os.geteuid() else [])}
        assert set(workspace.store.listing(look.tree)) == names


@pytest.mark.parametrize(
    ("folder", "told", "hint"),
    [
        (
            "agent-config",
            r"the state folder .*/\.workspace cannot be used: Permission denied",
            "must be writable",
        ),
        (HOME, r"the lock .*/\.workspace/lock cannot be opened: Permission denied", ""),
        (
            f"{HOME}/journal",
            r"the journal .*/journal cannot be used: Permission denied",
            "must be a writable folder",
        ),
    ],
)
def test_a_state_folder_that_cannot_be_used_is_named(root, no_privileges, folder, told, hint):
    (root / HOME / "journal").mkdir()
    (root / HOME / "lock").unlink()
    (root / folder).chmod(0o500 if folder == HOME else 0)
    Git(root).require_repository()  # which is kept open
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - numbers
    with pytest.raises(NotReady, match=told) as error:
        Workspace.open(root, writes=True, private_folder="agent-config")
    assert hint in error.value.hint
    assert len(os.listdir("/dev/fd")) <= before  # noqa: PTH208 - numbers


def test_a_private_repository_that_cannot_be_replaced_is_named(tmp_path, no_privileges):
    for replaced in (False, True):
        if replaced:
            (tmp_path / HOME).chmod(0o500)
            with pytest.raises(
                NotReady, match=r"no-repository\.git cannot be replaced: Permission denied"
            ) as caught:
                Workspace.open(
                    tmp_path, writes=True, private_folder="agent-config", repository="private"
                )
            assert caught.value.hint == "remove it"
            (tmp_path / HOME).chmod(0o700)
        else:
            Workspace.open(
                tmp_path, writes=True, private_folder="agent-config", repository="private"
            ).close()


def test_what_cannot_be_read_is_compared_as_far_as_possible(closed):
    (closed / "agent-config/closed").mkdir(mode=0)
    paths = [f"agent-config/{number}/file" for number in range(8)]
    for path in paths:
        (closed / path).parent.mkdir()
    (closed / "build.sh").chmod(0)
    check = IntegrityCheck(closed, state_folder=HOME)
    before = check.seal()
    assert check.altered(before) == ()
    (closed / "build.sh").unlink()
    (closed / "build.sh").write_bytes(b"own")
    for path in (*paths, "open/.gitignore"):
        (closed / path).write_bytes(b"*")
    assert check.altered(before) == (*paths, "build.sh", "open/.gitignore")


def test_files_in_other_folders_are_found_beside_one_that_is_closed(closed, tmp_path):
    for name in ("open/below", "build.sh"):
        os.link(closed / name, tmp_path / name.replace("/", "-"))
    linked = linked_elsewhere(str(closed), skip=[str(closed / ".git")])
    assert sorted(linked) == [[str(closed / "build.sh")], [str(closed / "open/below")]]
