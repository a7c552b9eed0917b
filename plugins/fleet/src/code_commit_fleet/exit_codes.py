"""The exit code of an error, for `fleet.finished`."""

from __future__ import annotations

from code_commit.plugin_api import CodeCommitError, ExitCode, Interrupted, LimitReached, NotReady, UsageError


def exit_code_of(error: CodeCommitError) -> ExitCode:
    """Return the exit code of an error that a fleet can end with."""
    codes: dict[type[CodeCommitError], ExitCode] = {
        UsageError: ExitCode.USAGE,
        LimitReached: ExitCode.LIMIT,
        Interrupted: ExitCode.INTERRUPTED,
        NotReady: ExitCode.NOT_READY,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ExitCode.INTERNAL)
