"""Compare paths as texts, without a look at the disk."""

from __future__ import annotations

import os


def within(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or in it; both are absolute. Nothing is in ""."""
    if not folder:
        return False
    if path == folder or path.startswith(f"{folder.rstrip('/')}/"):
        return True
    is_normal = "//" not in path and "/./" not in path
    return not is_normal and os.path.commonpath((path, folder)) == folder
