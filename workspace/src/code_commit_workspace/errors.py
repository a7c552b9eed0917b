"""Errors of the workspace. A host derives its own from `CodeCommitError`.

CodeCommitError
├── NotReady          something is missing, broken or in the way
│   └── Conflict      somebody changed the same places of a file
├── ChangeSetRefused  a path rule does not allow a change
└── Interrupted       Ctrl-C, SIGTERM, or a run that was ended
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from code_commit_workspace.records import Refusal

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}


class CodeCommitError(Exception):
    """The message describes what happened and where; `hint` describes what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotReady(CodeCommitError):  # noqa: N818 - the name of the outcome
    """Something that the run needs is missing, broken, or held by another run."""


class Conflict(NotReady):
    """Somebody changed files at the same places; nothing was written. `paths` names them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(sorted(paths))
        super().__init__(f"changed by somebody else at the same places: {', '.join(self.paths)}")


class ChangeSetRefused(CodeCommitError):  # noqa: N818 - the name of the outcome
    """A path rule does not allow a change; `refusals` has the paths and reasons."""

    def __init__(self, refusals: tuple[Refusal, ...]) -> None:
        reasons = "; ".join(map(str, refusals))
        super().__init__(f"the change was refused and nothing was applied: {reasons}")
        self.refusals = refusals


class Interrupted(CodeCommitError):  # noqa: N818 - the name of the outcome
    """Ctrl-C or SIGTERM."""


def no_room(error: BaseException) -> NotReady | None:
    """Return a `NotReady` if `error` means that the disk is full or read-only, else None."""
    if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
        return None
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return NotReady(
        f"cannot write: {where}{error.strerror}", hint="free some disk space, or make it writable"
    )


def no_access(error: BaseException) -> NotReady | None:
    """Return a `NotReady` if `error` means that this account may not use a path, else None."""
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return None
    return NotReady(
        f"cannot use {error.filename}: {error.strerror}", hint="give your account access to it"
    )
