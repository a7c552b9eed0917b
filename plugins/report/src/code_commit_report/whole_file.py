"""Write a page atomically."""

from __future__ import annotations

import os
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def write_whole(path: Path, text: str) -> None:
    """Replace the file at `path` without following links.

    Raises:
        OSError: it cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    with open(os.open(new, _NEW, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
        file.write(text)
    new.replace(path)
