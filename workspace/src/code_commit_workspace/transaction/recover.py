"""Roll back what an earlier run left half done, before anything else is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.transaction import disk
from code_commit_workspace.transaction.disk import Step, no_step
from code_commit_workspace.transaction.journal import ACTIVE, DONE, STAGING, FileStep, Journal, Plan, read_plan
from code_commit_workspace.transaction.rollback import take_back

_NAMED = 20  # paths that one message names


def in_force(home: Path) -> bool:
    """Whether a change is half done, by a run that goes on or was cut short; `home` is the state folder."""
    return os.path.lexists(home / "journal" / ACTIVE)


def recover(tree: ProjectTree, home: Path, *, step: Step = no_step) -> str | None:
    """Roll back what an earlier run left half done in the project; `home` is the state folder.

    Return a sentence about what was done, or None when there was nothing to do.

    Raises:
        NotReady: the rollback failed or is incomplete; the journal is kept.
    """
    if not os.path.lexists(home / "journal"):
        return None  # create nothing: a dry run calls this in folders without write permission too
    with Journal(home) as journal:
        return recover_with(tree, journal, step)


def recover_with(tree: ProjectTree, journal: Journal, step: Step) -> str | None:
    """Do what `recover` does with an open journal.

    Raises:
        NotReady: as `recover`.
    """
    try:
        done = None
        if journal.has(ACTIVE):
            count = roll_back(tree, journal, step)
            done = f"an earlier run was cut short while it changed {count} files: the project is as it was before"
        for stage in (STAGING, DONE):
            if journal.has(stage):
                step(f"drop {stage}")
                journal.drop(stage)
    except OSError as error:
        raise NotReady(
            f"what an earlier run left half done cannot be cleared away: {error}",
            hint=f"remove the cause and start again; the journal is {journal.path}",
        ) from error
    return done


def roll_back(tree: ProjectTree, journal: Journal, step: Step, only: Collection[str] | None = None) -> int:
    """Roll back the changes of the active journal, then close it. Return the number of files in it.

    `only` names the paths that were touched, if known.

    Raises:
        NotReady: the journal is damaged, and nothing was touched; or something blocks the paths that the message names,
            and all others are restored. The journal stays active.
        OSError: a disk operation failed.
    """
    folder = _open(journal)
    try:
        plan = _trusted(journal, folder)
        blocked = take_back(tree, folder, plan, step, only)
        if blocked:
            more = f" and {len(blocked) - _NAMED} more" if len(blocked) > _NAMED else ""
            raise NotReady(
                f"an earlier change was cut short, and these paths cannot be put back: "
                f"{'; '.join(blocked[:_NAMED])}{more}",
                hint="move what is there now out of the way, make missing folders again, and start again; "
                "all other files are as they were before",
            )
        step("flush")
        disk.flush_parents(tree, [entry.path for entry in plan.files] + [path for path, _mode in plan.gone])
    finally:
        os.close(folder)
    step("close the journal")
    if journal.has(DONE):
        journal.drop(DONE)
    journal.move(ACTIVE, DONE)
    journal.flush()
    step("drop the journal")
    with suppress(OSError):  # everything is restored; the next start cleans up
        journal.drop(DONE)
    return len(plan.files)


def _open(journal: Journal) -> int:
    try:
        return journal.open(ACTIVE)
    except OSError as error:
        raise _damaged(journal, str(error)) from error


def _trusted(journal: Journal, folder: int) -> Plan:
    """Read the plan and check that every old file exists, before the first step."""
    try:
        plan = read_plan(folder, journal.private_folder)
        for number, entry in enumerate(plan.files):
            if entry.old != "absent":
                _check_old(folder, f"old-{number}", entry)
    except (OSError, ValueError) as error:
        raise _damaged(journal, str(error)) from error
    return plan


def _check_old(folder: int, name: str, entry: FileStep) -> None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise ValueError(f"the old content of {entry.path} is no file")
    if entry.old == "copied" and disk.digest(folder, name) != entry.old_digest:
        raise ValueError(f"the old content of {entry.path} is damaged")


def _damaged(journal: Journal, why: str) -> NotReady:
    return NotReady(
        f"the journal of a run that was cut short cannot be used: {why}",
        hint=f"compare the project with `git status` and `git diff`, put right what is half changed, "
        f"then delete {journal.path / ACTIVE}",
    )
