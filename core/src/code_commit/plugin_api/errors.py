"""The errors that have an exit code.

    CodeCommitError
    ├── UsageError        2  invalid flags, an unknown model, a plugin that is not installed
    ├── NotReady          3  a requirement of the run is missing
    ├── ProviderFailed    4  the service returned no completion, refused or filtered
    ├── ResponseRefused   5  the response must not be applied
    ├── LimitReached      6  the next step could pass a limit
    └── Interrupted     130  Ctrl-C, SIGTERM or SIGHUP

`ProviderError` (in `conversation`) has none: it is one failed try, which the host may repeat before
it raises `ProviderFailed`. Any other exception is a bug and exits with 70.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from code_commit_workspace import (
    ChangeSetRefused,
    CodeCommitError,
    Interrupted,
    NotReady,
    signaled,
)
from code_commit_workspace.errors import no_room
from code_commit_workspace.words import describe

if TYPE_CHECKING:  # every command imports this module
    from code_commit.plugin_api.conversation import ProviderErrorKind

__all__ = ["CodeCommitError", "Interrupted", "NotReady"]  # of the workspace


class ExitCode(IntEnum):
    """Exit codes of the command; the lower-case name is the outcome in `run.finished` and
    `run.json`.
    """

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


class UsageError(CodeCommitError):
    """The command line names something that does not exist."""


class ProviderFailed(CodeCommitError):  # noqa: N818 - the name of the outcome
    """A call returned no completion, after all retries.

    `kind` is the kind of the last `ProviderError`, or None if the service refused or filtered the
    completion.
    """

    def __init__(
        self, message: str, *, hint: str = "", kind: ProviderErrorKind | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind

    @property
    def may_pass(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in {"rate", "network", "server", "invalid_response"}


class ResponseRefused(CodeCommitError):  # noqa: N818 - the name of the outcome
    """A response that must not be applied; nothing of it was written."""


class LimitReached(CodeCommitError):  # noqa: N818 - the name of the outcome
    """The next step could exceed a limit that the user set."""


_EXIT_CODES: dict[type[CodeCommitError], ExitCode] = {
    UsageError: ExitCode.USAGE,
    NotReady: ExitCode.NOT_READY,
    ProviderFailed: ExitCode.PROVIDER_FAILED,
    ResponseRefused: ExitCode.RESPONSE_REFUSED,
    ChangeSetRefused: ExitCode.RESPONSE_REFUSED,
    LimitReached: ExitCode.LIMIT,
    Interrupted: ExitCode.INTERRUPTED,
}


def exit_code_of(error: CodeCommitError) -> ExitCode:
    """Return the exit code of `error`: that of its nearest class in the table."""
    return next(
        (_EXIT_CODES[kind] for kind in type(error).__mro__ if kind in _EXIT_CODES),
        ExitCode.INTERNAL,
    )


def as_reported(error: BaseException, where: str = "") -> CodeCommitError:
    """Return what people are told about `error`: itself, or, for a bug, an error with the exit code
    INTERNAL.

    An error that a signal caused, or that it came together with, is `Interrupted`, and keeps its
    text.
    """
    told = error.__context__ if isinstance(error, KeyboardInterrupt) else error
    kinds = {type(error), type(error.__cause__)}  # Python 3.11 wraps one in a `__set_name__`
    interrupted = (signaled() or KeyboardInterrupt in kinds) and not isinstance(told, Interrupted)
    if isinstance(told, CodeCommitError):
        return Interrupted(f"interrupted; {told.message}", hint=told.hint) if interrupted else told
    if interrupted:
        return Interrupted("interrupted")
    bug = CodeCommitError(
        f"internal error{where}: {describe(error)}", hint="this is a bug; --debug shows where"
    )
    return no_room(error) or bug
