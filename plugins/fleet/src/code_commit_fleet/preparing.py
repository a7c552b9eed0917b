"""Add files that a run needs and a repository may lack: to the private copy, not to the result."""

from __future__ import annotations

import os
from pathlib import Path

from code_commit.plugin_api import PRIVATE_FOLDER, NotReady
from code_commit_workspace import require_gitignore_line

_NEW = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def prepare(project: Path, build: str) -> None:
    """Add the line `/agent-config` to `.gitignore`, and a `build.sh` that runs `build`.

    What exists stays as it is.

    Raises:
        NotReady: one of the files cannot be written.
    """
    try:
        require_gitignore_line(project, PRIVATE_FOLDER)
    except NotReady:
        _write(project / ".gitignore", "\n/agent-config\n", os.O_APPEND, 0o644)
    if build and not os.path.lexists(project / "build.sh"):
        _write(project / "build.sh", f"{build}\n", os.O_EXCL, 0o755)


def require_build(project: Path) -> None:
    """Check that the project has a `build.sh`, which decides whether the unit is reached.

    Raises:
        NotReady: it has none.
    """
    if not os.path.lexists(project / "build.sh"):
        raise NotReady(
            "the repository has no build.sh; commit one, or set `build` in the fleet file"
        )


def _write(path: Path, text: str, flags: int, mode: int) -> None:
    try:
        handle = os.open(path, _NEW | flags, mode)
        with open(handle, "wb") as file:  # noqa: PTH123 - a handle
            file.write(text.encode())
    except OSError as error:
        raise NotReady(f"{path.name} cannot be written: {error.strerror}") from error
