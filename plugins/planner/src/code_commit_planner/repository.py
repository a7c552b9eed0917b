"""git operations of planning: checks at the start, staging, committing. The host runs git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256

from code_commit.plugin_api import STOP, Run
from code_commit_planner.commit_message import CommitMessage
from code_commit_planner.plan_folder import FOLDER, HISTORY, NEW
from code_commit_planner.staged_by_others import (
    IndexEntry,
    Staging,
    read_index_changes,
    read_staging,
)
from code_commit_planner.staging import Selection, select
from code_commit_workspace import (
    StatusEntry,
    find_in_repository,
    git_status,
    overlooked_by_git,
    require_settled,
    skipped_by_commit,
    unknown_author,
)

_COMMIT = (
    "-c",
    "i18n.commitEncoding=utf-8",
    "commit",
    "--quiet",
    "--cleanup=whitespace",
    "--file=-",
)
_STAGED = ("diff", "--cached", "--no-renames")
# A file added with `--intent-to-add` is not staged.
_ENTRIES = ("--raw", "-z", "--no-abbrev", "--ita-invisible-in-index")
_TEXT = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_BRANCHES = b"refs/heads/"
_AT_ONCE = 200  # paths per command line


class Repository:
    """The repository that contains the codepath.

    Raises:
        NotReady: the codepath is not in a repository, or the hooks to run are in the project
            itself.
    """

    def __init__(self, run: Run, *, hooks: bool) -> None:
        self._run = run
        self._hooks = hooks
        self.top = run.repository_root
        self._folder, self.prefix = find_in_repository(run.git, run.root, self.top, hooks=hooks)

    def branch(self) -> str | None:
        """Return the name of the branch, even before its first commit; None when HEAD is detached."""
        return (
            self._git("branch", "--show-current").decode("utf-8", "backslashreplace").strip()
            or None
        )

    def head(self) -> str | None:
        """Return the id of the last commit, or None before the first."""
        return (
            self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
            .decode()
            .strip()
            or None
        )

    def branch_and_head(self) -> tuple[str | None, str | None]:
        """Return both, by one git where it can tell them."""
        match self._git(
            "rev-parse", "HEAD^{commit}", "--symbolic-full-name", "HEAD", check=False
        ).split():
            case [commit, b"HEAD"]:
                return None, commit.decode()
            case [commit, name] if name.startswith(_BRANCHES):
                return name.removeprefix(_BRANCHES).decode(
                    "utf-8", "backslashreplace"
                ), commit.decode()
        return self.branch(), self.head()

    def unknown_author(self) -> str | None:
        """Return why git knows no author name or address, so that it cannot commit; else None."""
        return unknown_author(self._git)

    def require_settled(self) -> None:
        """Check that no other operation would end with the next commit.

        Raises:
            NotReady: a merge, cherry-pick, revert or rebase is in progress.
        """
        require_settled(self._folder, self.top)

    def dirty(self) -> list[StatusEntry]:
        """Return all untracked, uncommitted or changed files of the repository.

        The new requirements are left out, and the empty history that the first start leaves.
        """
        ignored = {f"{self.prefix}{NEW}"}
        with suppress(OSError):
            if self._run.tree.read(HISTORY, 1) == b"":
                ignored.add(f"{self.prefix}{HISTORY}")
        return [entry for entry in git_status(self._git) if entry.path not in ignored]

    def is_committed(self, path: str) -> bool:
        """Return whether the last commit contains `path`, relative to the codepath."""
        return self.head() is not None and bool(
            self._git("ls-tree", "-z", "HEAD", "--", f"{self.prefix}{path}")
        )

    # --- staging ----------------------------------------------------------------------------------------------------

    def put_back(self) -> None:
        """Restore the index entries that an interrupted run removed for its commit."""
        staging = read_staging(self._run.state)
        if staging.set_aside:
            self._update_index(
                [entry.staged_line for entry in staging.set_aside if self._is_out(entry)]
            )
            replace(staging, set_aside=()).save(self._run.state)

    def _is_out(self, entry: IndexEntry) -> bool:
        """Return whether the index still has the committed state that replaced `entry`."""
        listing = os.fsdecode(
            self._run.git("--literal-pathspecs", *self._at_top, "ls-files", "-sz", "--", entry.path)
        )
        found = listing.partition("\t")[0].split(" ")[:2]
        return found == ([entry.old_mode, entry.old_id] if int(entry.old_id, 16) else [""])

    def _foreign(self, staged: Sequence[IndexEntry], head: str | None) -> tuple[IndexEntry, ...]:
        staging = read_staging(self._run.state)
        ours = frozenset(staging.ours) if staging.head == head else frozenset()
        inside = f"{self.prefix}{FOLDER}/"
        return tuple(
            entry
            for entry in staged
            if entry.path not in ours
            and not entry.path.startswith(inside)
            and (staging.before is None or entry.path in staging.before)
        )

    def begin_work(self, *, again: bool) -> str | None:
        """Record what is staged before the player works; with `again`, keep the record of an
        earlier run.

        Return the commit at which the work began, or None before the first.
        """
        staging = read_staging(self._run.state)
        if again and staging.before is not None:
            return staging.head
        head = self.head()
        ours = staging.ours if staging.head == head else ()
        before = tuple(entry.path for entry in self._staged() if entry.path not in ours)
        kept = staging if again else Staging()
        contents = self._digests(before) | dict(kept.contents)
        overlooked = self._digests(overlooked_by_git(self._git)) | dict(kept.overlooked)
        # A sparse checkout lacks most.
        present = tuple((path, digest) for path, digest in overlooked.items() if digest)
        Staging(
            head, ours, before=before, contents=tuple(contents.items()), overlooked=present
        ).save(self._run.state)
        return head

    def stage(self) -> tuple[Selection, tuple[IndexEntry, ...]]:
        """Stage the files of the work, one by one; return the selection and the entries that others
        staged.

        Record the files first: after an interruption, they must not count as staged by others.
        """
        head, staged = self.head(), self._staged()
        foreign = self._foreign(staged, head)
        chosen = select(git_status(self._git), (entry.path for entry in foreign), self.prefix)
        others = {entry.path for entry in foreign}
        before = [entry.path for entry in staged if entry.path not in others]
        ours = dict.fromkeys([*before, *chosen.stage])
        work = read_staging(self._run.state)
        Staging(
            head, tuple(ours), foreign, contents=work.contents, overlooked=work.overlooked
        ).save(self._run.state)
        self._add(chosen.stage)
        return chosen, foreign

    def touched(self) -> tuple[str, ...]:
        """Return the files that others staged and that changed since the player began."""
        staging = read_staging(self._run.state)
        contents = dict(staging.contents)
        return tuple(
            entry.path
            for entry in staging.foreign
            if entry.path in contents and self._digest(entry.path) != contents[entry.path]
        )

    def overlooked(self) -> dict[str, str]:
        """Return the changed files whose changes git was told to overlook before the work; each
        with its flag.
        """
        before = read_staging(self._run.state).overlooked
        changed = [path for path, digest in before if self._digest(path) != digest]
        flags = overlooked_by_git(self._git) if changed else {}
        return {path: flags[path] for path in changed if path in flags}

    def include(self, paths: Sequence[str]) -> None:
        """Make files that others staged part of the commit, as they are now."""
        staging = read_staging(self._run.state)
        others = tuple(entry for entry in staging.foreign if entry.path not in paths)
        replace(staging, ours=(*staging.ours, *paths), foreign=others).save(self._run.state)
        self._add(paths)

    def _digests(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._digest(path) for path in paths}

    def _digest(self, path: str) -> str:
        """Return a digest of a file in the codepath; "" for other files, which the player cannot
        change.
        """
        if not path.startswith(self.prefix):
            return ""
        try:
            content = self._run.tree.read(path.removeprefix(self.prefix))
        except (OSError, ValueError):
            return "unreadable"
        return "" if content is None else sha256(content).hexdigest()

    def staged_for_commit(self) -> tuple[str, ...]:
        """Return the paths that a commit would change."""
        others = self._others()
        return tuple(entry.path for entry in self._staged() if entry.staged_line not in others)

    def staged_diff(self) -> bytes:
        """Return the diff that a commit would record."""
        paths = self.staged_for_commit()
        pieces = []
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            pieces.append(
                self._run.git("--literal-pathspecs", *self._at_top, *_STAGED, *_TEXT, "--", *some)
            )
        return b"".join(pieces)

    def skipped(self) -> list[str]:
        """Return the signature and the hooks that the commit skips although the repository has
        them.
        """
        return [] if self._hooks else skipped_by_commit(self._git)

    # --- committing -------------------------------------------------------------------------------------------------

    def begin_commit(self, message: CommitMessage, requirements: str) -> None:
        """Record the commit that is about to be made, so that an interrupted run can continue with
        it.

        `requirements` is the file of the plan folder that identifies the commit.
        """
        staging = read_staging(self._run.state)
        begun = replace(
            staging,
            summary=message.summary,
            description=message.description,
            requirements=requirements,
        )
        begun.save(self._run.state)

    def reword_commit(self, message: CommitMessage) -> None:
        """Change the message of the recorded commit."""
        staging = read_staging(self._run.state)
        replace(staging, summary=message.summary, description=message.description).save(
            self._run.state
        )

    def begun_requirements(self) -> str:
        """Return the file that identifies the recorded commit."""
        return read_staging(self._run.state).requirements

    def begun_commit(self) -> CommitMessage | None:
        """Return the message of a commit that was recorded but not made, or None."""
        staging = read_staging(self._run.state)
        begun = staging.summary and not self.is_committed(f"{FOLDER}/{staging.requirements}")
        return CommitMessage(staging.summary, staging.description) if begun else None

    def forget_commit(self) -> None:
        """Forget the recorded commit; its staged files still belong to planning."""
        staging = read_staging(self._run.state)
        replace(staging, head=self.head(), summary="", description=()).save(self._run.state)

    def stage_plan(self) -> None:
        """Stage the plan folder again, after the last lines of the history."""
        inside = f"{self.prefix}{FOLDER}/"
        chosen = select(git_status(self._git), (), self.prefix)
        self._add([path for path in chosen.stage if path.startswith(inside)])

    def commit(self, message: CommitMessage) -> str:
        """Commit the staged files, except entries that others staged before and did not change
        since.

        Return the commit's id.

        Raises:
            NotReady: git did not commit; the index is unchanged.
        """
        others = self._others()
        with self._set_aside([entry for entry in self._staged() if entry.staged_line in others]):
            text = str(message).encode("utf-8", "surrogateescape")
            self._git(*_COMMIT, stdin=text, hooks=self._hooks)
        Staging().save(self._run.state)
        return self._git("rev-parse", "HEAD").decode().strip()

    def _others(self) -> frozenset[str]:
        """Return the staged lines of others' entries, without their committed state, which may have
        changed.
        """
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
            with STOP.hold():
                self.put_back()

    # --- git itself -------------------------------------------------------------------------------------------------

    def _staged(self) -> list[IndexEntry]:
        """Return how the index differs from the last commit; before the first, from nothing."""
        return read_index_changes(os.fsdecode(self._git(*_STAGED, *_ENTRIES)))

    def _add(self, paths: Sequence[str]) -> None:
        if paths:
            listing = os.fsencode("\0".join(paths))
            options = ("--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
            self._run.git("--literal-pathspecs", *self._at_top, "add", *options, stdin=listing)

    def _update_index(self, lines: Sequence[str]) -> None:
        self._git("update-index", "-z", "--index-info", stdin=os.fsencode("".join(lines)))

    def _git(
        self, *args: str, stdin: bytes = b"", check: bool = True, hooks: bool = False
    ) -> bytes:
        return self._run.git(*self._at_top, *args, stdin=stdin, check=check, hooks=hooks)

    @property
    def _at_top(self) -> tuple[str, str]:
        return "-C", str(self.top)
