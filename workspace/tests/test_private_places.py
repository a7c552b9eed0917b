"""The private folders of the sandbox: where they are, what they replace, and when they go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from code_commit_workspace import NotReady
from code_commit_workspace.process.sandbox.opened import fault_of_opening
from code_commit_workspace.process.sandbox.private_folders import (
    PrivateFolders,
    home_folder,
    make_mount_point,
    private_place,
)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "home/project"
    root.mkdir(parents=True)
    return root


@pytest.fixture
def environ(tmp_path):
    return {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}


def test_each_run_has_its_own_and_those_of_killed_runs_go(root, environ, tmp_path):
    handles = len(os.listdir("/dev/fd"))  # noqa: PTH208 - numbers
    first = PrivateFolders(str(root), environ)
    run = Path(first.empty).parent
    killed = run.with_name("run-killed")
    (killed / "tmp/closed").mkdir(parents=True, mode=0o500)
    second = PrivateFolders(str(root), environ)
    assert (run.exists(), killed.exists()) == (True, False)
    assert first.cache == second.cache
    assert (run.parent / "project").read_bytes() == os.fsencode(root)
    assert run.parent.parent == tmp_path / "cache/code-commit/sandbox"
    modes = {
        path: Path(path).stat().st_mode & 0o7777
        for path in (first.temporary, first.other_temporary, first.cache)
    }
    assert [*modes.values()] == [0o1777, 0o1777, 0o700]
    assert Path(first.empty).stat().st_mode & 0o777 == 0o444
    assert {path.stat().st_mode & 0o777 for path in (run, run.parent, run.parent.parent)} == {0o700}
    second.close()
    assert sorted(path.name for path in run.parent.iterdir()) == ["cache", "project", run.name]
    first.close()
    assert sorted(path.name for path in run.parent.iterdir()) == ["cache", "project"]
    assert len(os.listdir("/dev/fd")) <= handles  # noqa: PTH208 - numbers


def test_no_neighbor_can_write_beside_them_whatever_the_umask(root, tmp_path):
    before = os.umask(0)
    try:
        private = PrivateFolders(str(root), {"HOME": str(tmp_path / "home")})
    finally:
        os.umask(before)
    folders = [
        path
        for path in Path(private.cache).parents
        if path.is_relative_to(tmp_path / "home/.cache")
    ]
    private.close()
    assert len(folders) == 4
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


@pytest.mark.parametrize(
    ("named", "place"),
    [
        ("{tmp}/cache", "{tmp}/cache"),
        ("{tmp}/link", "{tmp}/cache"),
        ("{tmp}/home/project/cache", "{tmp}/home/.cache"),
        ("{tmp}/home/project", "{tmp}/home/.cache"),
        ("relative", "{tmp}/home/.cache"),
        ("", "{tmp}/home/.cache"),
    ],
)
def test_the_place_is_outside_of_the_project(root, environ, tmp_path, named, place):
    (tmp_path / "link").symlink_to("cache")
    chosen = private_place(str(root), environ | {"XDG_CACHE_HOME": named.format(tmp=tmp_path)})
    assert chosen == Path(place.format(tmp=tmp_path), "code-commit/sandbox")


@pytest.mark.parametrize("home", ["relative", "{tmp}/missing", "{tmp}/file"])
def test_a_home_folder_is_needed(tmp_path, home):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    assert home_folder({"HOME": str(tmp_path / "link")}) == str(tmp_path)
    named = home.format(tmp=tmp_path)
    with pytest.raises(NotReady, match=f"there is no home folder {named}") as caught:
        home_folder({"HOME": named})
    assert caught.value.hint == "set HOME to one"


def test_a_place_that_cannot_be_used_is_named(root, environ, tmp_path):
    (tmp_path / "cache").touch()
    with pytest.raises(
        NotReady, match=r"private temporary folders cannot be created in .*: Not a directory"
    ) as caught:
        PrivateFolders(str(root), environ)
    assert caught.value.hint == "set XDG_CACHE_HOME to a writable folder outside the project"


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("way", ["nothing", "file", "link", "folder", "deep"])
@pytest.mark.parametrize("place", ["a", "a/b", "a/b/c"])
def test_a_mount_point_replaces_what_an_earlier_process_left(tmp_path, way, place, folder):
    base, outside = tmp_path / "base", tmp_path / "outside"
    for parent in (base, outside):
        parent.mkdir()
    (outside / "kept").touch()
    if way == "file":
        (base / "a").write_text("left")
    elif way == "link":
        (base / "a").symlink_to(outside)
    elif way in {"folder", "deep"}:
        (base / "a/b/c/d").mkdir(parents=True) if way == "deep" else (base / "a").mkdir()
    handles = len(os.listdir("/dev/fd"))  # noqa: PTH208 - numbers
    for _ in range(2):  # the second time, it is there
        make_mount_point(str(base), place, folder=folder)
        assert (base / place).is_dir() == folder
        assert (base / place).is_file() != folder
    assert len(os.listdir("/dev/fd")) <= handles  # noqa: PTH208 - numbers
    assert [*outside.iterdir()] == [outside / "kept"]
    for part in (Path(place).parents[:-1]) if way != "deep" else ():
        assert (base / part).stat().st_mode & 0o777 == (
            0o755 if way == "folder" and str(part) == "a" else 0o700
        )


# --- what the user may open -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opened", "fault"),
    [
        ("tools", "is on PATH, where a build could put programs that you run"),
        ("tools/below", "is on PATH, where a build could put programs that you run"),
        (
            "links",
            "holds what {tmp}/links/bin on PATH leads to, so that a build could put a program there",
        ),
        ("target", None),
        (
            "far",
            "holds what {tmp}/tools/git on PATH leads to, so that a build could put a program there",
        ),
        (
            "missing",
            "holds what {tmp}/missing/bin on PATH leads to, so that a build could put a program there",
        ),
        (
            "loop",
            "holds what {tmp}/loop/a on PATH leads to, so that a build could put a program there",
        ),
        (
            "up",
            "holds what {tmp}/above on PATH leads to, so that a build could put a program there",
        ),
        ("free", None),
        ("private", "is or holds {tmp}/private/place, which no process can change"),
        ("private/place/x", "is or holds {tmp}/private/place, which no process can change"),
        ("hidden", "is or holds {tmp}/hidden/missing, which no process can change"),
        ("hidden/missing", None),
        ("hidden/there", None),
        ("home", "is or holds {tmp}/home, which no process can change"),
        ("home/.config", "is or holds {tmp}/home/.config/code-commit, which no process can change"),
        ("home/.ssh", None),
        ("home/own", None),
    ],
)
def test_no_folder_is_opened_that_decides_what_runs_outside(tmp_path, monkeypatch, opened, fault):
    for name in (
        "tools",
        "target/bin",
        "far",
        "free",
        "loop",
        "links",
        "private/place",
        "hidden/there",
        "home/own",
        "up",
    ):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "links/bin").symlink_to(tmp_path / "target/bin")
    (tmp_path / "above").symlink_to("free/../up/bin")
    (tmp_path / "loop/a").symlink_to("b")
    (tmp_path / "loop/b").symlink_to("a")
    (tmp_path / "far/git").write_text("#!/bin/sh\n")
    (tmp_path / "far/git").chmod(0o755)
    (tmp_path / "tools/git").symlink_to("../far/git")
    path = ":".join(
        f"{tmp_path}/{name}" for name in ("tools", "links/bin", "missing/bin", "loop/a", "above")
    )
    monkeypatch.setenv("PATH", f"{path}:relative")
    named_fault = fault_of_opening(
        str(tmp_path / opened),
        homes=[str(tmp_path / "home")],
        hidden=[str(tmp_path / "hidden/missing"), str(tmp_path / "hidden/there")],
        private=str(tmp_path / "private/place"),
    )
    if fault is None:
        assert named_fault is None
    else:
        if "no process" in fault:
            advice = "use folders below it"
        else:
            advice = "remove it from your configuration or from PATH"
        assert named_fault == (fault.format(tmp=tmp_path), advice)
