"""How many bytes are in a folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below `folder`. Links are not followed.

    What cannot be read, or vanishes meanwhile, does not count.
    """
    size = 0
    folders = [str(folder)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
    return size
