"""Roll back the change set of an interrupted run, before anything else is written."""

from __future__ import annotations

import os
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.disk import Step, no_step
from code_commit_workspace.move.journal import ACTIVE, DONE, STAGING, Journal
from code_commit_workspace.words import count_of, join_paths

_NAMED = 20  # paths in one message


def in_force(home: Path) -> bool:
    """Return whether a change set is half done, by a running or an interrupted run.

    `home` is the state folder.
    """
    return os.path.lexists(home / "journal" / ACTIVE)


def recover(tree: ProjectTree, home: Path, *, step: Step = no_step) -> str | None:
    """Roll back the change set of an interrupted run; `home` is the state folder.

    Return a sentence about what was done, or None if there was nothing to do.

    Raises:
        NotReady: the rollback failed; the journal is kept.
    """
    if not os.path.lexists(home / "journal"):
        return None  # create nothing: a dry run calls this in folders without write permission, too
    with Journal(home) as journal:
        return recover_with(tree, journal, step)


def recover_with(tree: ProjectTree, journal: Journal, step: Step) -> str | None:
    """Do what `recover` does with an open journal.

    Raises:
        NotReady: as `recover`.
    """
    try:
        sentence = None
        if journal.has(ACTIVE):
            from code_commit_workspace.move.rollback import roll_back

            rolled_back = roll_back(tree, journal, step)
            files = count_of(rolled_back.files, "file")
            sentence = (
                f"an earlier run was interrupted while it changed {files}: the project is restored"
            )
            if rolled_back.changed_since:
                paths = join_paths(rolled_back.changed_since, _NAMED)
                sentence += f", but for what was changed since: {paths}"
        for stage in (STAGING, DONE):
            if journal.has(stage):
                step(f"drop {stage}")
                journal.drop(stage)
    except OSError as error:
        raise NotReady(
            f"the unfinished change of an earlier run cannot be removed: {error}",
            hint=f"fix the cause, then run again; the journal is {journal.path}",
        ) from error
    return sentence
