"""Replace a file as a whole: whoever reads it sees the old content or the new one."""

from __future__ import annotations

import os
from pathlib import Path

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(path: Path, content: bytes | memoryview, *, sync: bool = False) -> None:
    """Replace the file at `path`; only its owner may read it. Follow no link in its place.

    With `sync`, the content is on disk before the old one is gone, also after a loss of power.

    Raises:
        OSError: it cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)  # of a run that was killed, or a link or pipe that somebody planted
    with open(os.open(new, _NEW_FILE, 0o600), "wb") as file:  # noqa: PTH123 - a handle
        file.write(content)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    new.replace(path)
