"""Find where the machine shows a file a second time, or the processes of the host.

These are bind mounts and further procfs. Containers and virtual machines often show the whole disk
at a second place, and a chroot has a `/proc` of its own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from code_commit_workspace.files.path_text import within

_ESCAPED = re.compile(rb"\\([0-7]{3})")
# File systems with the processes and messages of the host, and where the sandbox mounts its own.
_OF_PROCESSES = {"proc": "/proc", "mqueue": "/dev"}


@dataclass(frozen=True, slots=True)
class MountPoint:
    """A line of the mount table: what is mounted at `path`.

    It is the folder `top` of the file system of `kind` on `device`.
    """

    path: str
    kind: str
    device: str
    top: str


def read_mount_table() -> list[MountPoint]:
    """Return the mounts of this process (proc_pid_mountinfo(5)); none where there is no table."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
            return [parse_mount(line) for line in file]
    except OSError:
        return []


def parse_mount(line: bytes) -> MountPoint:
    """Parse a line of the mount table."""
    fields, _, source = line.partition(b" - ")
    _, _, device, top, path, *_ = fields.split(b" ")
    kind, *_ = source.split(b" ")
    return MountPoint(
        path=_plain(path),
        kind=kind.decode(),
        device=device.decode(),
        top=_plain(top),
    )


def _plain(path: bytes) -> str:
    """Return `path`, in which the kernel writes blanks and backslashes as octal numbers."""
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), path))


def second_places(paths: Iterable[str], table: list[MountPoint]) -> Iterator[str]:
    """Yield where else the files and folders at `paths`, or parts of them, are visible.

    `paths` are real paths.
    """
    mounts = _by_path(table)
    for path in paths:
        own = _mount_of(path, mounts)
        if own is None:
            continue
        yield from _other_names(path, own, mounts)
        inside = _moved(path, own.path, own.top)
        for mount in mounts.values():
            is_part = mount.device == own.device and within(mount.top, inside)
            if is_part and mount.top != inside and not within(mount.path, path):
                yield mount.path


def other_names(path: str, table: list[MountPoint]) -> Iterator[str]:
    """Yield the other paths of what is at `path`, a real path, existing or not."""
    mounts = _by_path(table)
    own = _mount_of(path, mounts)
    if own is not None:
        yield from _other_names(path, own, mounts)


def _other_names(path: str, own: MountPoint, mounts: Mapping[str, MountPoint]) -> Iterator[str]:
    """Yield the other paths of what is at `path`, which the mount `own` shows."""
    inside = _moved(path, own.path, own.top)
    for mount in mounts.values():
        if mount.device != own.device or not within(inside, mount.top):
            continue
        place = _moved(inside, mount.top, mount.path)
        if not within(place, path) and _mount_of(place, mounts) is mount:
            yield place


def _by_path(table: list[MountPoint]) -> dict[str, MountPoint]:
    return {mount.path: mount for mount in table}  # the last mount of a path covers the others


def views_of_processes(table: list[MountPoint]) -> Iterator[str]:
    """Yield where the processes or messages of the host are visible.

    The places that the sandbox replaces are left out.
    """
    for mount in table:
        replaced = _OF_PROCESSES.get(mount.kind)
        if replaced and not within(mount.path, replaced):
            yield mount.path


def _moved(path: str, folder: str, to: str) -> str:
    """Return where `path`, which is in `folder`, is in the folder `to`."""
    inside = os.path.relpath(path, folder)
    return os.path.normpath(os.path.join(to, inside))  # noqa: PTH118 - texts


def _mount_of(path: str, mounts: Mapping[str, MountPoint]) -> MountPoint | None:
    while path not in mounts and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120 - a text
    return mounts.get(path)
