"""git, as planning uses it: what is checked at the start, staged and committed. The host is who calls it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from code_commit.plugin_api import NotReady, Run
from code_commit_planner.commit_message import CommitMessage
from code_commit_planner.plan_folder import FOLDER, NEW
from code_commit_planner.staged_by_others import IndexEntry, Staging, read_index_changes, read_staging
from code_commit_planner.staging import Entry, Selection, read_status, select

_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
_COMMIT = ("-c", "i18n.commitEncoding=utf-8", "commit", "--quiet", "--cleanup=whitespace", "--file=-")
_NOT_YET = ("--ita-invisible-in-index",)  # what is only intended to be added is not staged
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
"""What git leaves in its folder while it waits for a person to settle something."""


class Repository:
    """The repository that the codepath lies in.

    Raises:
        NotReady: there is none.
    """

    def __init__(self, run: Run, *, hooks: bool) -> None:
        self._run = run
        self._hooks = hooks
        self.top = run.repository_root
        self.prefix = os.fsdecode(run.git("rev-parse", "--show-prefix")).removesuffix("\n")

    def branch(self) -> str | None:
        """Return the name of the branch, also before its first commit; None when HEAD is detached."""
        return self._git("branch", "--show-current").decode("utf-8", "backslashreplace").strip() or None

    def head(self) -> str | None:
        """Return the id of the last commit, None before the first."""
        return self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False).decode().strip() or None

    def unknown_author(self) -> str | None:
        """Say why git would not commit for want of a name or an address; None when it would."""
        try:
            for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
                self._git("var", who)
        except NotReady as error:
            return error.message.strip().rpartition("\n")[2]
        return None

    def require_settled(self) -> None:
        """Make sure that the next commit is nobody else's.

        Raises:
            NotReady: a merge or the like is under way, which a commit of planning's would end without what it brings.
        """
        folder = Path(os.fsdecode(self._git("rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
        for name, what in _UNDER_WAY.items():
            if os.path.lexists(folder / name):
                raise NotReady(f"{what} is under way in {self.top}", hint="finish it or abort it, then start again")

    def dirty(self) -> list[Entry]:
        """Return what is untracked, uncommitted or changed in the whole repository, but for the new requirements."""
        return [entry for entry in self._status() if entry.path != f"{self.prefix}{NEW}"]

    def is_committed(self, path: str) -> bool:
        """Whether the last commit has a file at `path`, which is relative to the codepath."""
        return self.head() is not None and bool(self._git("ls-tree", "-z", "HEAD", "--", f"{self.prefix}{path}"))

    # --- staging ----------------------------------------------------------------------------------------------------

    def put_back(self) -> None:
        """Put into the index again what a run that was cut off had set aside."""
        staging = read_staging(self._run.state)
        if staging.set_aside:
            self._update_index([entry.staged_line for entry in staging.set_aside if self._is_out(entry)])
            replace(staging, set_aside=()).save(self._run.state)

    def _is_out(self, entry: IndexEntry) -> bool:
        """Whether the index still has what the last commit had when `entry` was set aside."""
        listing = os.fsdecode(self._run.git("--literal-pathspecs", *self._at_top, "ls-files", "-sz", "--", entry.path))
        found = listing.partition("\t")[0].split(" ")[:2]
        return found == ([entry.old_mode, entry.old_id] if int(entry.old_id, 16) else [""])

    def foreign(self) -> tuple[IndexEntry, ...]:
        """Return what is staged and was not staged by planning. The plan folder is always planning's own.

        What appeared in the index while the player was at work is part of that work.
        """
        staging, head = read_staging(self._run.state), self.head()
        ours = frozenset(staging.ours) if staging.head == head else frozenset()
        inside = f"{self.prefix}{FOLDER}/"
        return tuple(
            entry
            for entry in self._staged(head)
            if entry.path not in ours
            and not entry.path.startswith(inside)
            and (staging.before is None or entry.path in staging.before)
        )

    def begin_work(self, *, again: bool) -> str | None:
        """Remember what is staged before the player is at work; `again`: unless an earlier run has done so.

        Returns the commit at which the work began, None before the first.
        """
        staging, head = read_staging(self._run.state), self.head()
        if again and staging.before is not None:
            return staging.head
        ours = staging.ours if staging.head == head else ()
        before = tuple(entry.path for entry in self._staged(head) if entry.path not in ours)
        Staging(head, ours, before=before).save(self._run.state)
        return head

    def stage(self) -> tuple[Selection, tuple[IndexEntry, ...]]:
        """Stage what belongs to the work, file by file; return what was chosen, and what is others'.

        What is about to be staged is written down first: a run that is cut off must not take it for others' later.
        """
        foreign = self.foreign()
        chosen = select(self._status(), (entry.path for entry in foreign), self.prefix)
        others = {entry.path for entry in foreign}
        before = [entry.path for entry in self._staged(self.head()) if entry.path not in others]
        ours = dict.fromkeys([*before, *chosen.stage])
        Staging(self.head(), tuple(ours), foreign).save(self._run.state)
        self._add(chosen.stage)
        return chosen, foreign

    def staged_for_commit(self) -> tuple[str, ...]:
        """Return the paths that a commit would change now."""
        others = self._others()
        return tuple(entry.path for entry in self._staged(self.head()) if entry.staged_line not in others)

    # --- committing -------------------------------------------------------------------------------------------------

    def begin_commit(self, message: CommitMessage, requirements: str) -> None:
        """Remember the commit that is about to be made, so that a run which is cut off can go on with it.

        `requirements` is the file of the plan folder by which the commit is known.
        """
        staging = read_staging(self._run.state)
        begun = replace(staging, summary=message.summary, description=message.description, requirements=requirements)
        begun.save(self._run.state)

    def begun_commit(self) -> CommitMessage | None:
        """Return the message of the commit that was begun and not made, None when there is none."""
        staging = read_staging(self._run.state)
        begun = staging.summary and not self.is_committed(f"{FOLDER}/{staging.requirements}")
        return CommitMessage(staging.summary, staging.description) if begun else None

    def forget_commit(self) -> None:
        """The commit that was begun is not to be made; what was staged for it stays planning's own."""
        staging = read_staging(self._run.state)
        replace(staging, head=self.head(), summary="", description=()).save(self._run.state)

    def stage_plan(self) -> None:
        """Stage the plan folder once more: the history has got its last lines."""
        inside = f"{self.prefix}{FOLDER}/"
        chosen = select(self._status(), (), self.prefix)
        self._add([path for path in chosen.stage if path.startswith(inside)])

    def commit(self, message: CommitMessage) -> str:
        """Commit what is staged, but for what was staged before by others, unless they have changed it since.

        Returns the commit's id.

        Raises:
            NotReady: git did not commit; the index is as it was.
        """
        others = self._others()
        with self._set_aside([entry for entry in self._staged(self.head()) if entry.staged_line in others]):
            words = str(message).encode("utf-8", "surrogateescape")
            self._git(*_COMMIT, stdin=words, hooks=self._hooks)
        Staging().save(self._run.state)
        return self._git("rev-parse", "HEAD").decode().strip()

    def _others(self) -> frozenset[str]:
        """Return what others had staged before, as it was; what the last commit has in its place may have changed."""
        return frozenset(entry.staged_line for entry in read_staging(self._run.state).foreign)

    @contextmanager
    def _set_aside(self, entries: Sequence[IndexEntry]) -> Iterator[None]:
        if not entries:
            yield
            return
        replace(read_staging(self._run.state), set_aside=tuple(entries)).save(self._run.state)
        try:
            self._update_index([entry.committed_line for entry in entries])
            yield
        finally:
            self.put_back()

    # --- git itself -------------------------------------------------------------------------------------------------

    def _status(self) -> list[Entry]:
        return read_status(os.fsdecode(self._git(*_STATUS)))

    def _staged(self, head: str | None) -> list[IndexEntry]:
        """Return how the index differs from the commit `head`; None: from nothing."""
        base = head or self._git("hash-object", "-t", "tree", "--stdin").decode().strip()
        listing = self._git("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", *_NOT_YET, base)
        return read_index_changes(os.fsdecode(listing))

    def _add(self, paths: Sequence[str]) -> None:
        if paths:
            listing = os.fsencode("\0".join(paths))
            options = ("--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
            self._run.git("--literal-pathspecs", *self._at_top, "add", *options, stdin=listing)

    def _update_index(self, lines: Sequence[str]) -> None:
        self._git("update-index", "-z", "--index-info", stdin=os.fsencode("".join(lines)))

    def _git(self, *args: str, stdin: bytes = b"", check: bool = True, hooks: bool = False) -> bytes:
        return self._run.git(*self._at_top, *args, stdin=stdin, check=check, hooks=hooks)

    @property
    def _at_top(self) -> tuple[str, str]:
        return "-C", str(self.top)
