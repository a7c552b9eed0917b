"""Turn mounts, which say what a sandboxed process sees at a path, into arguments of bubblewrap.

Everything is read-only unless a mount says otherwise. A process could remove a mount by renaming a
folder above it; so the folders between a writable folder and a mount in it are mounted onto
themselves.

What is hidden stays hidden, whatever the mounts say: `arrange` leaves out or refuses every mount
that would show it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import is_folder
from code_commit_workspace.files.path_text import within
from code_commit_workspace.process.sandbox.private_folders import make_mount_point

MOST_WORDS = 8000
"""Words of arguments. bubblewrap takes 9,000 in all."""


@dataclass(frozen=True, slots=True)
class Mount:
    """What a process sees at `path`, a real path.

    It sees `source`, by default the same path; if "hidden", an empty file or folder instead of
    `source`.

    `origin` is who asks for it: the project shows its own files, code-commit its private folders,
    the machine its files, unchanged, at the same place or in a cache; only the user's own
    configuration shows what is hidden.
    """

    path: str
    kind: Literal["writable", "read-only", "hidden"]
    source: str = ""
    origin: Literal["project", "private", "machine", "user"] = "machine"

    @property
    def shown(self) -> str:
        """The path outside that a process sees here; "" if it is hidden."""
        return "" if self.kind == "hidden" else self.outside

    @property
    def outside(self) -> str:
        """The path outside that this mount shows or hides."""
        return self.source or self.path

    def below(self, path: str) -> str:
        """Return the path outside that a process sees at `path`, which is in this mount."""
        if not self.shown:
            return ""
        return os.path.join(self.shown, os.path.relpath(path, self.path))  # noqa: PTH118


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The `arguments` of bubblewrap, and the `mounts` that they make, by path."""

    arguments: list[str]
    mounts: Mapping[str, Mount]


def arrange(mounts: Iterable[Mount], *, root: str, private: str, empty: str) -> Arrangement:
    """Arrange `mounts`; the last mount of a path counts. Mounts that change nothing are left out.

    `root` is the project, `private` the folder of the private folders, `empty` an empty file.

    Raises:
        NotReady: a mount would show what is hidden or what its origin may not show; or there are
            too many.
        OSError: a mount point in a private folder cannot be created.
    """
    by_path = {mount.path: mount for mount in mounts}
    by_path |= {mount.path: mount for mount in _covers_of_copies(by_path.values())}
    arranged = {"/": Mount("/", "read-only")}
    arguments: list[str] = []

    def add(mount: Mount) -> None:
        arranged[mount.path] = mount
        arguments.extend(_arguments(mount, empty))

    for mount in sorted(by_path.values(), key=lambda mount: Path(mount.path).parts):
        above = _mount_above(mount, arranged)
        if not _changes_something(mount, above):
            continue
        if above.kind == "writable":
            _make_place(mount, above)
            for folder in _folders_between(above.path, mount.path):
                add(Mount(folder, "writable", above.below(folder), above.origin))
        add(mount)
    hidden = [mount.outside for mount in by_path.values() if mount.kind == "hidden"]
    _check(arranged, hidden, root=root, private=private)
    if len(arguments) > MOST_WORDS:
        raise NotReady(
            f"{len(arranged)} places need a mount of their own, which is too many",
            hint="remove folders from sandbox.writable and sandbox.readable",
        )
    return Arrangement(arguments, arranged)


def _make_place(mount: Mount, above: Mount) -> None:
    """Create the mount point in `above`, unless a process sees the same there anyway."""
    if mount.shown and above.shown and above.below(mount.path) != mount.shown:
        inside = os.path.relpath(mount.path, above.path)
        make_mount_point(above.shown, inside, folder=is_folder(mount.shown))


def _folders_between(top: str, path: str) -> list[str]:
    """Return the folders between `top` and `path`, which is below it; the outermost first."""
    folders = Path(os.path.relpath(path, top)).parents[:-1]
    return [f"{top}/{folder}" for folder in reversed(folders)]


def _changes_something(mount: Mount, above: Mount) -> bool:
    """Return whether a process sees something else with `mount` than with `above` alone.

    `mount` is at a path in `above`.
    """
    behind = above.below(mount.path)
    if mount.kind == "hidden":
        return behind == mount.outside  # else nothing of it is seen there
    if above.kind == "hidden" and mount.origin != "user" and mount.shown == mount.path:
        return False  # what is hidden is protected as well
    return mount.kind == "writable" or above.kind != "read-only" or behind != mount.shown


def _check(
    arranged: Mapping[str, Mount],
    hidden: Sequence[str],
    *,
    root: str,
    private: str,
) -> None:
    """Check that no mount shows a `hidden` path, and that each shows what its origin may show.

    Raises:
        NotReady: one does not.
    """
    for mount in arranged.values():
        if mount.kind == "hidden":
            continue
        fault = _hidden_in(mount, arranged, hidden)
        if not fault and not _may_show(mount, root, private):
            fault = "which no build may see there"
        if fault:
            raise NotReady(
                f"{mount.path} would show {mount.shown}, {fault}",
                hint="remove the link or setting that leads there",
            )


def _hidden_in(mount: Mount, arranged: Mapping[str, Mount], hidden: Sequence[str]) -> str:
    """Return how `mount` would show what is hidden, or ""."""
    by_user = mount.origin == "user"
    for path in hidden:
        if within(mount.shown, path):
            if not by_user:
                return "which is hidden"
        elif within(path, mount.shown):
            place = os.path.join(mount.path, os.path.relpath(path, mount.shown))  # noqa: PTH118 - a text
            if _nearest(place, arranged) is mount:
                return f"with {path} in it, which is hidden"
    if not by_user and _mount_above(mount, arranged).kind == "hidden":
        return "in a hidden folder"
    return ""


def _may_show(mount: Mount, root: str, private: str) -> bool:
    match mount.origin:
        case "project":
            return mount.shown == mount.path and within(mount.path, root)
        case "private":
            return within(mount.shown, private)
        case "machine":
            return mount.kind == "read-only"
        case "user":
            return True


def _mount_above(mount: Mount, arranged: Mapping[str, Mount]) -> Mount:
    """Return the mount in which the mount point is."""
    return _nearest(os.path.dirname(mount.path), arranged)  # noqa: PTH120 - a text


def _nearest(path: str, arranged: Mapping[str, Mount]) -> Mount:
    """Return the mount in which `path` is."""
    while path not in arranged:
        path = os.path.dirname(path)  # noqa: PTH120 - a text
    return arranged[path]


def _covers_of_copies(mounts: Iterable[Mount]) -> list[Mount]:
    """Return what hides a hidden path also where another mount shows it, at a second place."""
    mounts = list(mounts)
    hidden = [mount.path for mount in mounts if mount.kind == "hidden"]
    copies = [mount for mount in mounts if mount.shown not in {"", mount.path}]
    return [
        Mount(f"{copy.path}{path[len(copy.source) :]}", "hidden", path)
        for copy in copies
        for path in hidden
        if within(path, copy.source) and path != copy.source
    ]


def _arguments(mount: Mount, empty: str) -> tuple[str, ...]:
    if mount.kind == "writable":
        return ("--bind", mount.shown, mount.path)
    if mount.kind == "read-only":
        return ("--ro-bind", mount.shown, mount.path)
    if is_folder(mount.outside):
        return ("--perms", "0555", "--tmpfs", mount.path)
    return ("--ro-bind", empty, mount.path)
