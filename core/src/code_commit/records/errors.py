"""What can go wrong, as far as an exit code tells it apart.

    CodeCommitError
    ├── UsageError        2  flags, an unknown model, something that is not installed
    ├── NotReady          3  something that a run needs is missing or in the way
    ├── ProviderFailed    4  the service gave no completion, refused or filtered
    ├── ResponseRefused   5  the response must not be applied
    ├── LimitReached      6  the next step could pass a limit
    └── Interrupted     130  Ctrl-C or SIGTERM

`ProviderError` (in `conversation`) stands apart: it is one failed try, which the host may repeat before it becomes
`ProviderFailed`. Any other exception is a bug and ends with 70.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import ClassVar

from code_commit.records.conversation import ProviderErrorKind


class ExitCode(IntEnum):
    """Exit codes of the command; the lower-case name is the outcome in `run.finished` and `run.json`."""

    REACHED = 0
    NOT_REACHED = 1
    USAGE = 2
    NOT_READY = 3
    PROVIDER_FAILED = 4
    RESPONSE_REFUSED = 5
    LIMIT = 6
    INTERNAL = 70
    INTERRUPTED = 130

    @property
    def outcome(self) -> str:
        """The name of this exit code in events and documents."""
        return self.name.lower()


class CodeCommitError(Exception):
    """Says what happened and where; `hint` says what to do next."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(CodeCommitError):
    """The command line asks for what does not exist."""

    exit_code = ExitCode.USAGE


class NotReady(CodeCommitError):  # noqa: N818 - the name of the outcome
    """Something that the run needs is missing, broken, or held by another run."""

    exit_code = ExitCode.NOT_READY


class ProviderFailed(CodeCommitError):  # noqa: N818 - as above
    """No completion could be had, after the retries that made sense.

    `kind` is that of the last `ProviderError`; None when the service answered, but refused or filtered.
    """

    exit_code = ExitCode.PROVIDER_FAILED

    def __init__(self, message: str, *, hint: str = "", kind: ProviderErrorKind | None = None) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind

    @property
    def may_pass(self) -> bool:
        """Whether the same request may be answered later: nothing about it, the key or the account was wrong."""
        return self.kind in {"rate", "network", "server", "garbled"}


class ResponseRefused(CodeCommitError):  # noqa: N818 - as above
    """A response that must not be applied; nothing of it was written."""

    exit_code = ExitCode.RESPONSE_REFUSED


def no_room(error: BaseException) -> NotReady | None:
    """Return what to tell where `error` says that the disk takes nothing more: that is no bug, wherever it shows."""
    if not isinstance(error, OSError) or error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:
        return None
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return NotReady(f"cannot write: {where}{error.strerror}", hint="make room on the disk, and run again")


class LimitReached(CodeCommitError):  # noqa: N818 - as above
    """The next step could pass a limit that the user has set."""

    exit_code = ExitCode.LIMIT


class Interrupted(CodeCommitError):  # noqa: N818 - as above
    """Ctrl-C or SIGTERM."""

    exit_code = ExitCode.INTERRUPTED


def describe(error: BaseException, *, longest: int | None = None) -> str:
    """Return the kind of an error and its words, on one line, whatever its `__str__` does.

    Of the words no more than `longest` characters.
    """
    try:
        words = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's exception class may raise anything
        words = ""
    if longest is not None and len(words) > longest:
        words = words[:longest] + "…"
    name = type(error).__name__
    return f"{name}: {words}" if words else name
