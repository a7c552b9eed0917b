"""Turn mounts, which say what a sandboxed process sees at a path, into arguments of bubblewrap.

Everything is read-only unless a mount says otherwise. A process could remove a mount by renaming a folder above it; so
the folders between a writable folder and a mount in it are mounted onto themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from code_commit_workspace.process.private_folders import make_mount_point


@dataclass(frozen=True, slots=True)
class Mount:
    """What a process sees at `path`, a real path.

    It sees `source`, by default the same path; if "hidden", an empty file or folder.
    """

    path: str
    kind: Literal["writable", "read-only", "hidden"]
    source: str = ""

    @property
    def shown(self) -> str | None:
        """The path outside that a process sees here."""
        return None if self.kind == "hidden" else self.source or self.path

    def below(self, path: str) -> str | None:
        """Return the path outside that a process sees at `path`, which is in this mount."""
        return None if self.shown is None else os.path.join(self.shown, os.path.relpath(path, self.path))  # noqa: PTH118


def arrange(mounts: Iterable[Mount], *, empty: str) -> list[str]:
    """Return the arguments of bubblewrap for `mounts`; the last mount of a path counts.

    `empty` is an empty file. Mounts that change nothing are left out.

    Raises:
        OSError: a mount point in a private folder cannot be created.
    """
    done = {"/": Mount("/", "read-only")}
    arguments: list[str] = []

    def add(mount: Mount) -> None:
        done[mount.path] = mount
        arguments.extend(_arguments(mount, empty))

    for mount in sorted({each.path: each for each in mounts}.values(), key=lambda each: Path(each.path).parts):
        above = next(done[str(folder)] for folder in Path(mount.path).parents if str(folder) in done)
        behind = above.below(mount.path)
        if mount.kind == "hidden" and behind != mount.path:
            continue
        if mount.kind == "read-only" and above.kind == "read-only" and behind == mount.shown:
            continue
        if above.kind == "writable":
            inside = os.path.relpath(mount.path, above.path)
            if behind != mount.shown and mount.shown is not None and above.shown is not None:
                make_mount_point(above.shown, inside, folder=Path(mount.shown).is_dir())
            for folder in reversed(Path(inside).parents[:-1]):
                path = f"{above.path}/{folder}"
                add(Mount(path, "writable", above.below(path) or ""))
        add(mount)
    return arguments


def _arguments(mount: Mount, empty: str) -> tuple[str, ...]:
    if mount.kind == "writable":
        return ("--bind", mount.shown or "", mount.path)
    if mount.kind == "read-only":
        return ("--ro-bind", mount.shown or "", mount.path)
    if Path(mount.path).is_dir():
        return ("--perms", "0555", "--tmpfs", mount.path)
    return ("--ro-bind", empty, mount.path)
