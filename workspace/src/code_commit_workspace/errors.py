"""Errors of the workspace. A host derives its own from `CodeCommitError`.

CodeCommitError
├── NotReady          something is missing, broken or in the way
├── ChangeSetRefused  a path rule does not allow a change
└── Interrupted       Ctrl-C, SIGTERM, or a run that was ended
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from code_commit_workspace.records import Refusal


class CodeCommitError(Exception):
    """The message describes what happened and where; `hint` describes what to do next."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotReady(CodeCommitError):  # noqa: N818 - the name of the outcome
    """Something that the run needs is missing, broken, or held by another run."""


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
    if not isinstance(error, OSError) or error.errno not in {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
    }:
        return None
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return NotReady(
        f"cannot write: {where}{error.strerror}", hint="free some disk space, or make it writable"
    )


def describe(error: BaseException, *, longest: int | None = None, with_hint: bool = False) -> str:
    """Return the type and message of an error on one line, even if its `__str__` fails.

    Cut the message to `longest` characters. `with_hint` adds the hint of a `CodeCommitError`.
    """
    try:
        words = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's exception class may raise anything
        words = ""
    if longest is not None:
        from code_commit_workspace.words import shorten  # not at every start

        words = shorten(words, longest)
    if with_hint and isinstance(error, CodeCommitError) and error.hint:
        words += f" (hint: {error.hint})"
    name = type(error).__name__
    return f"{name}: {words}" if words else name


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error, as Python prints it."""
    from traceback import format_exception  # slow to import

    return "".join(format_exception(error))


def closest(word: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the name in `known` that is most similar to `word`, at least by `similarity` (0 to 1),
    or None.
    """
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), folded, 1, similarity)
    return folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the known name similar to `word`, or an empty text."""
    close = closest(word, known)
    return f"; did you mean {close}?" if close else ""
