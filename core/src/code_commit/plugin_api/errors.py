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
    STOP,
    ChangeSetRefused,
    CodeCommitError,
    Conflict,
    Interrupted,
    NotReady,
    Scope,
    Stop,
)
from code_commit_workspace.errors import no_access, no_room
from code_commit_workspace.words import describe

if TYPE_CHECKING:  # every command imports this module
    from collections.abc import Iterator

    from code_commit.plugin_api.conversation import ProviderErrorKind

_MOST_CAUSES = 50

# Of the workspace.
__all__ = ["STOP", "CodeCommitError", "Conflict", "Interrupted", "NotReady", "Scope", "Stop"]


class ExitCode(IntEnum):
    """Exit codes of the command. The outcome in `run.finished` is the name in lower case."""

    REACHED = 0
    NOT_REACHED = 1
    USAGE = 2
    NOT_READY = 3
    PROVIDER_FAILED = 4
    RESPONSE_REFUSED = 5
    LIMIT = 6
    INTERNAL = 70
    INTERRUPTED = STOP.INTERRUPTED

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
        self,
        message: str,
        *,
        hint: str = "",
        kind: ProviderErrorKind | None = None,
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
    for kind in type(error).__mro__:
        if kind in _EXIT_CODES:
            return _EXIT_CODES[kind]
    return ExitCode.INTERNAL


def as_reported(error: BaseException, where: str = "") -> CodeCommitError:
    """Return what people are told about `error`: itself, or, for a bug, an internal error.

    Once a signal came, every error is `Interrupted`, and keeps its text; but a bug only if an
    interruption caused it.
    """
    if isinstance(error, Interrupted):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("interrupted")
    reported = error if isinstance(error, CodeCommitError) else no_room(error) or no_access(error)
    if reported is not None:
        if STOP.is_set:
            return Interrupted(f"interrupted; {reported.message}", hint=reported.hint)
        return reported
    if any(isinstance(cause, Interrupted) for cause in _with_causes(error)):
        return Interrupted(f"interrupted; {describe(error)}")
    return CodeCommitError(
        f"internal error{where}: {describe(error)}", hint="this is a bug; --debug shows where"
    )


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error`, and the errors that it was raised from or while they were handled."""
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):  # they may form a circle
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
