"""Write commits and refs of the private repository as files. git would need two more processes per
checkpoint.

Formats: gitformat-loose, gitrepository-layout and "COMMIT INFORMATION" of git-commit-tree, in git's
documentation.
"""

from __future__ import annotations

import hashlib
import os
import time
import zlib
from pathlib import Path

from code_commit_workspace.files.open_flags import NEW_FILE

_WHO = "code-commit <>"


def blob_id(object_format: str, content: bytes) -> str:
    """Return the id that git gives to a file with this content."""
    name = hashlib.new(object_format, b"blob %d\0" % len(content), usedforsecurity=False)
    name.update(content)
    return name.hexdigest()


def write_commit(repository: Path, object_format: str, tree: str, message: str) -> str:
    """Store a commit of `tree` without parents, safe against power loss, and return its id.

    Raises:
        OSError: it cannot be written.
    """
    when = f"{_WHO} {int(time.time())} +0000"
    text = f"tree {tree}\nauthor {when}\ncommitter {when}\n\n{message}".encode()
    whole = b"commit %d\0%b" % (len(text), text)
    name = hashlib.new(object_format, whole, usedforsecurity=False).hexdigest()
    _write(
        repository / "objects" / name[:2] / name[2:],
        "tmp_obj_commit",
        zlib.compress(whole, 1),
        0o444,
    )
    return name


def write_ref(repository: Path, ref: str, commit: str) -> None:
    """Point `ref` at `commit`, safe against power loss.

    Raises:
        OSError: it cannot be written.
    """
    name = ref.rpartition("/")[2]
    _write(repository / ref, f"{name}.lock", commit.encode() + b"\n", 0o644)


def _write(path: Path, temporary: str, content: bytes, mode: int) -> None:
    """Write a file atomically, first under the name `temporary`, which git never takes for an
    object or a ref.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(temporary)
    new.unlink(missing_ok=True)  # left by a killed run
    handle = os.open(new, NEW_FILE, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
