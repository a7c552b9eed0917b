"""Write commits and refs of the private repository as files.

With git, that would take two more processes per checkpoint.

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
    hasher = hashlib.new(object_format, b"blob %d\0" % len(content), usedforsecurity=False)
    hasher.update(content)
    return hasher.hexdigest()


def write_commit(repository: Path, object_format: str, tree: str, message: str) -> str:
    """Store a commit of `tree` without parents, safe against power loss, and return its id.

    Raises:
        OSError: it cannot be written.
    """
    when = f"{_WHO} {int(time.time())} +0000"
    text = f"tree {tree}\nauthor {when}\ncommitter {when}\n\n{message}".encode()
    content = b"commit %d\0%b" % (len(text), text)
    commit = hashlib.new(object_format, content, usedforsecurity=False).hexdigest()
    path = repository / "objects" / commit[:2] / commit[2:]
    _write(path, "tmp_obj_commit", zlib.compress(content, 1), mode=0o444)
    return commit


def write_ref(repository: Path, ref: str, commit: str) -> None:
    """Point `ref` at `commit`, safe against power loss.

    Raises:
        OSError: it cannot be written.
    """
    name = ref.rpartition("/")[2]
    _write(repository / ref, f"{name}.lock", commit.encode() + b"\n", mode=0o644)


def _write(path: Path, temporary: str, content: bytes, *, mode: int) -> None:
    """Write a file atomically, first under the name `temporary`.

    git never takes that name for an object or a ref.
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
