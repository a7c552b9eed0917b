"""Mounts become arguments of bubblewrap, and those that change nothing are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_workspace.process.sandbox.mounts import Mount, arrange


@pytest.fixture
def base(tmp_path):
    for folder in (
        "project/.git",
        "project/deep/er",
        "project/deep/other",
        "private",
        "secret",
        "seen",
    ):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("project/build.sh", "project/deep/er/rules", "seen/file"):
        (tmp_path / file).touch()
    return tmp_path


def mount_in(base, path, kind, source="", origin=""):
    copied = f"{base}/{source}" if source else ""
    private = "private" if source == "private" else "machine"
    own = "project" if kind == "writable" and not source else private
    return Mount(f"{base}/{path}", kind, copied, origin or own)


PROJECT = ("--bind", "project", "project")


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ([], []),
        (
            [("project", "read-only"), ("seen/file", "hidden")],
            [("--ro-bind", "empty", "seen/file")],
        ),
        ([("project", "writable")], [PROJECT]),
        ([("project", "writable"), ("project", "read-only")], []),
        ([("project", "read-only"), ("project", "writable")], [PROJECT]),
        (
            [("project/.git", "read-only"), ("project", "writable")],
            [PROJECT, ("--ro-bind", "project/.git", "project/.git")],
        ),
        (
            [("project", "writable"), ("project/deep/er/rules", "read-only")],
            [
                PROJECT,
                ("--bind", "project/deep", "project/deep"),
                ("--bind", "project/deep/er", "project/deep/er"),
                ("--ro-bind", "project/deep/er/rules", "project/deep/er/rules"),
            ],
        ),
        (
            [
                ("project", "writable"),
                ("project/deep/er", "hidden"),
                ("project/deep/other", "read-only"),
            ],
            [
                PROJECT,
                ("--bind", "project/deep", "project/deep"),
                ("--perms", "0555", "--tmpfs", "project/deep/er"),
                ("--ro-bind", "project/deep/other", "project/deep/other"),
            ],
        ),
        ([("secret", "hidden")], [("--perms", "0555", "--tmpfs", "secret")]),
        ([("seen/file", "hidden")], [("--ro-bind", "empty", "seen/file")]),
        (
            [("secret", "hidden"), ("secret/below", "hidden"), ("seen/file", "hidden")],
            [("--perms", "0555", "--tmpfs", "secret"), ("--ro-bind", "empty", "seen/file")],
        ),
        ([("seen", "read-only", "private")], [("--ro-bind", "private", "seen")]),
        ([("seen", "writable", "private")], [("--bind", "private", "seen")]),
        (
            [("seen", "writable", "private"), ("seen/file", "hidden")],
            [("--bind", "private", "seen")],
        ),
        (
            [("seen", "writable", "private"), ("seen/a/b", "read-only", "secret")],
            [
                ("--bind", "private", "seen"),
                ("--bind", "private/a", "seen/a"),
                ("--ro-bind", "secret", "seen/a/b"),
            ],
        ),
        (
            [("seen", "writable", "private"), ("seen/file", "read-only")],
            [("--bind", "private", "seen"), ("--ro-bind", "seen/file", "seen/file")],
        ),
        (
            [
                ("project", "writable"),
                ("project/deep", "read-only"),
                ("project/deep/er", "writable"),
            ],
            [
                PROJECT,
                ("--ro-bind", "project/deep", "project/deep"),
                ("--bind", "project/deep/er", "project/deep/er"),
            ],
        ),
    ],
)
def test_mounts_in_writable_folders_hold_the_folders_above_them(base, mounts, expected):
    base_mounts = [mount_in(base, *mount) for mount in mounts]
    arguments = arrange(
        base_mounts, root=f"{base}/project", private=f"{base}/private", empty=f"{base}/empty"
    ).arguments
    options = ("--bind", "--ro-bind", "--perms", "0555", "--tmpfs")
    assert arguments == [
        argument if argument in options else f"{base}/{argument}"
        for row in expected
        for argument in row
    ]


def test_a_mount_point_in_a_private_folder_is_made(base):
    mounts = [Mount("/made-up", "writable", f"{base}/private", "private")]
    for name, source in (("file", "seen/file"), ("a/folder", "secret")):
        mounts.append(Mount(f"/made-up/{name}", "read-only", f"{base}/{source}"))
    arrange(mounts, root=f"{base}/project", private=f"{base}/private", empty="")
    assert (base / "private/file").is_file()
    assert (base / "private/a/folder").is_dir()
    assert [path.name for path in sorted(Path(base, "private").rglob("*"))] == [
        "a",
        "folder",
        "file",
    ]
