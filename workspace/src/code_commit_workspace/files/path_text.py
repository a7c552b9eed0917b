"""Compare paths as texts, without a look at the disk."""

from __future__ import annotations

import os


def within(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or lies in it; both are absolute."""
    return os.path.commonpath((path, folder)) == folder
