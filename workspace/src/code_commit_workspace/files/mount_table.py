"""Find where the machine shows a file a second time, or the processes of the host: bind mounts and
other procfs.

Containers and virtual machines often show the whole disk at a second place, and a chroot has a
`/proc` of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from code_commit_workspace.files.path_text import within

_ESCAPED = re.compile(rb"\\([0-7]{3})")
# File systems with the processes and messages of the host, and where the sandbox has its own.
_OF_PROCESSES = {"proc": "/proc", "mqueue": "/dev"}


@dataclass(frozen=True, slots=True)
class MountPoint:
    """A line of the mount table: at `path`, the file system of `kind` on `device` is seen from its
    folder `top`.
    """

    path: str
    kind: str
    device: str
    top: str


def read_mount_table() -> list[MountPoint]:
    """Return the mounts of this process, as in proc_pid_mountinfo(5); nothing where no system
    tells.
    """
    try:
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
            return [parse_mount(line) for line in file]
    except OSError:
        return []


def parse_mount(line: bytes) -> MountPoint:
    """Return a line of the mount table."""
    fields, _, source = line.partition(b" - ")
    _, _, device, top, path, *_ = fields.split(b" ")
    return MountPoint(_plain(path), source.split(b" ")[0].decode(), device.decode(), _plain(top))


def _plain(path: bytes) -> str:
    """Return `path`, in which the kernel writes blanks and backslashes as octal numbers."""
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), path))


def second_places(paths: Iterable[str], table: list[MountPoint]) -> Iterator[str]:
    """Yield where else the files and folders at `paths`, real paths, or parts of them are seen."""
    seen = _by_path(table)
    for path in paths:
        own = _mount_of(path, seen)
        if own is None:
            continue
        yield from _other_names(path, own, seen)
        inside = _moved(path, own.path, own.top)
        for mount in seen.values():
            is_part = mount.device == own.device and within(mount.top, inside)
            if is_part and mount.top != inside and not within(mount.path, path):
                yield mount.path


def other_names(path: str, table: list[MountPoint]) -> Iterator[str]:
    """Yield the other paths of what is at `path`, a real path, existing or not."""
    seen = _by_path(table)
    own = _mount_of(path, seen)
    if own is not None:
        yield from _other_names(path, own, seen)


def _other_names(path: str, own: MountPoint, seen: Mapping[str, MountPoint]) -> Iterator[str]:
    inside = _moved(path, own.path, own.top)
    for mount in seen.values():
        if mount.device != own.device or not within(inside, mount.top):
            continue
        place = _moved(inside, mount.top, mount.path)
        if not within(place, path) and _mount_of(place, seen) is mount:
            yield place


def _by_path(table: list[MountPoint]) -> dict[str, MountPoint]:
    return {mount.path: mount for mount in table}  # the last mount of a path covers the others


def views_of_processes(table: list[MountPoint]) -> Iterator[str]:
    """Yield where the processes or messages of the host are seen besides the places that the
    sandbox replaces.
    """
    for mount in table:
        own = _OF_PROCESSES.get(mount.kind)
        if own and not within(mount.path, own):
            yield mount.path


def _moved(path: str, folder: str, to: str) -> str:
    """Return where `path`, which is in `folder`, is in the folder `to`."""
    return os.path.normpath(os.path.join(to, os.path.relpath(path, folder)))  # noqa: PTH118 - texts


def _mount_of(path: str, seen: Mapping[str, MountPoint]) -> MountPoint | None:
    while path not in seen and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120 - a text
    return seen.get(path)
