"""Create a file, or replace it as a whole: a reader sees either the old content or the new one."""

from __future__ import annotations

import os
from pathlib import Path

from code_commit_workspace.files.open_flags import NEW_FILE


def create_file(
    path: str | Path,
    content: bytes | memoryview,
    mode: int = 0o600,
    *,
    folder: int | None = None,
    sync: bool = False,
) -> None:
    """Create a file at `path`, relative to the handle `folder`, with the permission bits `mode`.

    With `sync`, the content is on disk when this returns, even after a power failure.

    Raises:
        FileExistsError: something is there, such as a link.
        OSError: it cannot be written.
    """
    with open(os.open(path, NEW_FILE, mode, dir_fd=folder), "wb") as file:  # noqa: PTH123 - a handle
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())


def replace_file(path: Path, content: bytes | memoryview, *, sync: bool = False) -> None:
    """Replace the file at `path`; only its owner may read it. If it is a link, replace the link.

    With `sync`, the new content is on disk before the old one is gone, even after a power failure.

    Raises:
        OSError: it cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)  # of a run that was killed, or a link or pipe that somebody planted
    create_file(new, content, sync=sync)
    new.replace(path)
