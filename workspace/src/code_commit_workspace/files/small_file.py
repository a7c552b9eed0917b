"""Read a file of the project that should be small, such as a configuration, without trusting it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree


def read_in_project(root: Path, path: str, *, limit: int) -> bytes | None:
    """Return the content of the regular file `path` below `root`, or None when it does not exist.

    Follow no links.

    Raises:
        NotReady: it is a link or behind one, not a regular file, not readable, or larger than
            `limit` bytes.
    """
    try:
        with ProjectTree(root) as tree:
            status = tree.lstat(path)
            if status is None:
                return None
            _require_small(status, limit)
            return tree.read(path, limit)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise NotReady(
                f"{path} cannot be read: it is a link, or in a folder that is one",
                hint=f"use a regular file; links below {root} are not followed",
            ) from None
        raise _unreadable(path, error) from None


def require_no_link_out(root: Path, path: Path, shown: str) -> None:
    """Check that a `path` in the project at `root` stays in it: a repository may contain links.

    Links of the user, outside of the project, may lead anywhere. `shown` names the path in the
    error.

    Raises:
        NotReady: a link leads out of the project, or the path cannot be resolved.
    """
    try:
        place = Path(os.path.normpath(root / path))
        real_root, real = root.resolve(), place.resolve()
        named_in_project = any(above.resolve() == real_root for above in place.parents)
    except (OSError, RuntimeError, ValueError) as error:
        raise NotReady(f"{shown} cannot be resolved: {error}") from None
    if named_in_project and not real.is_relative_to(real_root):
        raise NotReady(
            f"{shown} leads out of the project through a link",
            hint="if you trust it, name the file that it leads to",
        )


def _require_small(status: os.stat_result, limit: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "a link")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if status.st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes")


def _unreadable(path: str, error: OSError) -> NotReady:
    reason = error.strerror or "no file can have this name"
    return NotReady(f"{path} cannot be read: {reason[:1].lower()}{reason[1:]}")
