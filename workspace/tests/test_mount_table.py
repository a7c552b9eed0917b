"""The mount table tells where a file is seen a second time."""

from __future__ import annotations

import pytest

from code_commit_workspace.files.mount_table import (
    MountPoint,
    other_names,
    parse_mount,
    second_places,
    views_of_processes,
)

ROOT = MountPoint("/", "ext4", "8:1", "/")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw",
            MountPoint("/proc", "proc", "0:21", "/"),
        ),
        (
            r"9 1 8:1 /a\040b /m\134\011é rw - ext4 /dev/sda rw",
            MountPoint("/m\\\té", "ext4", "8:1", "/a b"),
        ),
        (
            "9 1 0:30 /@home /home rw - btrfs /dev/sda rw",
            MountPoint("/home", "btrfs", "0:30", "/@home"),
        ),
    ],
)
def test_lines_of_the_table(line: str, expected: MountPoint) -> None:
    assert parse_mount(line.encode()) == expected


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ([], []),
        ([MountPoint("/mnt", "ext4", "8:1", "/")], ["/mnt/home/u/.ssh"]),
        ([MountPoint("/mnt", "ext4", "8:1", "/home")], ["/mnt/u/.ssh"]),
        ([MountPoint("/mnt", "ext4", "8:1", "/home/u/.ssh")], ["/mnt"]),
        ([MountPoint("/mnt", "ext4", "8:1", "/home/u/.ssh/id")], ["/mnt"]),
        ([MountPoint("/mnt", "ext4", "8:1", "/home/u/.ss")], []),
        ([MountPoint("/mnt", "ext4", "8:2", "/")], []),
        (
            [MountPoint("/mnt", "ext4", "8:1", "/"), MountPoint("/mnt/home", "tmpfs", "0:9", "/")],
            [],
        ),
        (
            [MountPoint("/home", "ext4", "8:2", "/"), MountPoint("/mnt", "ext4", "8:2", "/u")],
            ["/mnt/.ssh"],
        ),
        ([MountPoint("/mnt", "ext4", "8:1", "/"), MountPoint("/mnt", "tmpfs", "0:9", "/")], []),
    ],
)
def test_second_places_of_a_path(mounts: list[MountPoint], expected: list[str]) -> None:
    assert list(second_places(["/home/u/.ssh"], [ROOT, *mounts])) == expected


def test_other_names_are_those_of_the_whole_place() -> None:
    seen = [
        MountPoint("/mnt", "ext4", "8:1", "/home"),
        MountPoint("/part", "ext4", "8:1", "/home/u/.ssh/id"),
    ]
    assert list(other_names("/home/u/.ssh", [ROOT, *seen])) == ["/mnt/u/.ssh"]
    assert list(other_names("/part", [ROOT, *seen])) == ["/home/u/.ssh/id", "/mnt/u/.ssh/id"]


def test_views_of_processes_besides_our_own() -> None:
    kinds = {
        "/proc": "proc",
        "/srv/x/proc": "proc",
        "/dev/mqueue": "mqueue",
        "/srv/q": "mqueue",
        "/proc/bus": "proc",
    }
    table = [ROOT, *(MountPoint(path, kind, "0:9", "/") for path, kind in kinds.items())]
    assert list(views_of_processes(table)) == ["/srv/x/proc", "/srv/q"]
