"""Ask whether to try again after an error of the service."""

from __future__ import annotations

from code_commit.plugin_api import CodeCommitError, Run
from code_commit_planner.dialog.answers import YES_OR_NO, ask
from code_commit_planner.dialog.messages import TRY_AGAIN
from code_commit_planner.dialog.text import fill
from code_commit_planner.machine import Event


class QuitAtError(Exception):
    """The person quit where a call had failed."""


def described_error(error: CodeCommitError) -> str:
    """Return the message and the hint of an error, for a person who is asked what to do."""
    return f"{error.message}\n({error.hint})" if error.hint else error.message


def wants_to_try_again(run: Run, error: CodeCommitError) -> bool:
    """Ask whether to try again; the end of the input means no.

    Raises:
        QuitAtError: the person quit.
    """
    event = ask(run, fill(TRY_AGAIN, error=described_error(error)), YES_OR_NO)
    if event is Event.QUIT:
        raise QuitAtError from error
    return event is Event.YES
