"""git operations of planning: checks at the start, staging, committing. The host runs git."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any

from code_commit.plugin_api import STOP, Run
from code_commit_planner.git.commit_message import CommitMessage
from code_commit_planner.git.selection import Selection, select
from code_commit_planner.git.staging import IndexEntry, Staging, read_index_changes, read_staging
from code_commit_planner.plan_folder.folder import FOLDER, HISTORY, NEW
from code_commit_workspace import NextCommit, StatusEntry

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
        self._next = NextCommit(self._git, run.root, self.top, hooks=hooks)
        self.prefix = self._next.prefix

    def branch(self) -> str | None:
        """Return the name of the branch, even before its first commit; None if HEAD is detached."""
        name = self._git("branch", "--show-current").decode("utf-8", "backslashreplace")
        return name.strip() or None

    def head(self) -> str | None:
        """Return the id of the last commit, or None before the first."""
        head = self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
        return head.decode().strip() or None

    def branch_and_head(self) -> tuple[str | None, str | None]:
        """Return the branch and the last commit, from one git process where possible."""
        arguments = ("HEAD^{commit}", "--symbolic-full-name", "HEAD")
        match self._git("rev-parse", *arguments, check=False).split():
            case [commit, b"HEAD"]:
                return None, commit.decode()
            case [commit, name] if name.startswith(_BRANCHES):
                branch = name.removeprefix(_BRANCHES).decode("utf-8", "backslashreplace")
                return branch, commit.decode()
        return self.branch(), self.head()

    def unknown_author(self) -> str | None:
        """Return why git knows no author name or address, so that it cannot commit; else None."""
        return self._next.unknown_author()

    def require_settled(self) -> None:
        """Check that no other operation would end with the next commit.

        Raises:
            NotReady: a merge, cherry-pick, revert or rebase is in progress.
        """
        self._next.require_settled()

    def dirty(self) -> list[StatusEntry]:
        """Return all untracked, uncommitted or changed files of the repository.

        The new requirements are left out, and the empty history that the first start creates.
        """
        ignored = {f"{self.prefix}{NEW}"}
        with suppress(OSError):
            if self._run.tree.read(HISTORY, 1) == b"":
                ignored.add(f"{self.prefix}{HISTORY}")
        return [entry for entry in self._next.status() if entry.path not in ignored]

    def is_committed(self, path: str) -> bool:
        """Return whether the last commit contains `path`, relative to the codepath."""
        if self.head() is None:
            return False
        return bool(self._git("ls-tree", "-z", "HEAD", "--", f"{self.prefix}{path}"))

    # Staging

    def put_back(self) -> None:
        """Restore the index entries that an interrupted run removed for its commit."""
        staging = self._saved()
        if not staging.set_aside:
            return
        removed = [entry for entry in staging.set_aside if self._is_out(entry)]
        self._update_index([entry.staged_line for entry in removed])
        self._save(set_aside=())

    def _is_out(self, entry: IndexEntry) -> bool:
        """Return whether the index still has the committed state that replaced `entry`."""
        arguments = ("ls-files", "-sz", "--", entry.path)
        listing = os.fsdecode(self._run.git("--literal-pathspecs", *self._at_top, *arguments))
        if int(entry.old_id, 16) == 0:  # it was not committed
            return not listing
        return listing.startswith(f"{entry.old_mode} {entry.old_id} ")

    def _foreign(self, staged: Sequence[IndexEntry], head: str | None) -> tuple[IndexEntry, ...]:
        """Return the entries of `staged` that others staged before the work."""
        staging = self._saved()
        own_paths = frozenset(staging.ours) if staging.head == head else frozenset()
        inside = f"{self.prefix}{FOLDER}/"
        return tuple(
            entry
            for entry in staged
            if entry.path not in own_paths
            and not entry.path.startswith(inside)
            and (staging.before is None or entry.path in staging.before)
        )

    def begin_work(self, *, again: bool) -> str | None:
        """Record what is staged before the player works.

        With `again`, keep the record of an earlier run. Return the commit at which the work began,
        or None before the first.
        """
        staging = self._saved()
        if again and staging.before is not None:
            return staging.head
        head = self.head()
        own_paths = staging.ours if staging.head == head else ()
        before = tuple(entry.path for entry in self._staged() if entry.path not in own_paths)
        contents = self._digests(before)
        overlooked = self._digests(self._next.overlooked())
        dirty = [entry.path for entry in self.dirty() if entry.path not in own_paths]
        if again:
            dirty = list(staging.dirty)
            contents |= dict(staging.contents)
            overlooked |= dict(staging.overlooked)
        begun = Staging(
            head=head,
            ours=own_paths,
            before=before,
            contents=tuple(contents.items()),
            earlier=staging.earlier if again else own_paths,
            dirty=tuple(dirty),
            # A sparse checkout lacks most of these files.
            overlooked=tuple((path, digest) for path, digest in overlooked.items() if digest),
        )
        begun.save(self._run.state)
        return head

    def stage(self, left: Collection[str]) -> tuple[Selection, tuple[IndexEntry, ...]]:
        """Stage the files of the work; return the selection, and the entries that others staged.

        `left` are files that commands of the agents left in the codepath: they are not staged.

        Record the files first: after an interruption, they must not count as staged by others.
        """
        head = self.head()
        staged = self._staged()
        foreign = self._foreign(staged, head)
        foreign_paths = {entry.path for entry in foreign}
        left_paths = frozenset(f"{self.prefix}{path}" for path in left)
        selection = select(self._next.status(), foreign_paths, self.prefix, left_paths)
        own_paths = [entry.path for entry in staged if entry.path not in foreign_paths]
        begun = self._saved()
        recorded = Staging(
            head=head,
            ours=tuple(dict.fromkeys([*own_paths, *selection.stage])),
            foreign=foreign,
            contents=begun.contents,
            earlier=begun.earlier,
            dirty=begun.dirty,
            overlooked=begun.overlooked,
        )
        recorded.save(self._run.state)
        self._add(selection.stage)
        return selection, foreign

    def touched(self) -> tuple[str, ...]:
        """Return the files that others staged and that changed since the player began."""
        staging = self._saved()
        contents = dict(staging.contents)
        return tuple(
            entry.path
            for entry in staging.foreign
            if entry.path in contents and self._digest(entry.path) != contents[entry.path]
        )

    def overlooked(self) -> dict[str, str]:
        """Return the changed files whose changes git overlooks, with the flag that tells it to."""
        recorded = self._saved().overlooked
        changed = [path for path, digest in recorded if self._digest(path) != digest]
        if not changed:
            return {}
        flags = self._next.overlooked()
        return {path: flags[path] for path in changed if path in flags}

    def was_dirty(self, path: str) -> bool:
        """Return whether `path` had uncommitted changes when the player began."""
        return path in self._saved().dirty

    def was_left(self, path: str) -> bool:
        """Return whether earlier work of planning left `path` staged."""
        return path in self._saved().earlier

    def include(self, paths: Sequence[str]) -> None:
        """Make files that others staged part of the commit, as they are now."""
        staging = self._saved()
        foreign = tuple(entry for entry in staging.foreign if entry.path not in paths)
        self._save(ours=(*staging.ours, *paths), foreign=foreign)
        self._add(paths)

    def _digests(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._digest(path) for path in paths}

    def _digest(self, path: str) -> str:
        """Return a digest of a file; "" outside the codepath, where the player cannot write."""
        if not path.startswith(self.prefix):
            return ""
        try:
            content = self._run.tree.read(path.removeprefix(self.prefix))
        except (OSError, ValueError):
            return "unreadable"
        if content is None:
            return ""
        return sha256(content).hexdigest()

    def staged_for_commit(self) -> tuple[str, ...]:
        """Return the paths that a commit would change."""
        foreign = self._foreign_lines()
        return tuple(entry.path for entry in self._staged() if entry.staged_line not in foreign)

    def staged_diff(self) -> bytes:
        """Return the diff that a commit would record."""
        paths = self.staged_for_commit()
        pieces = []
        for start in range(0, len(paths), _AT_ONCE):
            arguments = (*_STAGED, *_TEXT, "--", *paths[start : start + _AT_ONCE])
            pieces.append(self._run.git("--literal-pathspecs", *self._at_top, *arguments))
        return b"".join(pieces)

    def skipped(self) -> list[str]:
        """Return the signature and the hooks of the repository that the commit skips."""
        return self._next.skipped()

    # Committing

    def begin_commit(self, message: CommitMessage, requirements: str) -> None:
        """Record the commit that is about to be made, so that a later run can continue with it.

        `requirements` is the file of the plan folder that identifies the commit.
        """
        self._save(
            summary=message.summary,
            description=message.description,
            requirements=requirements,
        )

    def reword_commit(self, message: CommitMessage) -> None:
        """Change the message of the recorded commit."""
        self._save(summary=message.summary, description=message.description)

    def begun_requirements(self) -> str:
        """Return the file that identifies the recorded commit."""
        return self._saved().requirements

    def begun_commit(self) -> CommitMessage | None:
        """Return the message of a commit that was recorded but not made, or None."""
        staging = self._saved()
        if not staging.summary or self.is_committed(f"{FOLDER}/{staging.requirements}"):
            return None
        return CommitMessage(staging.summary, staging.description)

    def forget_commit(self) -> None:
        """Forget the recorded commit; its staged files still belong to planning."""
        self._save(head=self.head(), summary="", description=())

    def stage_plan(self) -> None:
        """Stage the plan folder again, after the last lines of the history."""
        inside = f"{self.prefix}{FOLDER}/"
        selection = select(self._next.status(), (), self.prefix)
        self._add([path for path in selection.stage if path.startswith(inside)])

    def commit(self, message: CommitMessage) -> str:
        """Commit the staged files, except the entries of others; return the commit's id.

        Entries that others have changed since they were recorded are committed.

        Raises:
            NotReady: git did not commit; the index is unchanged.
        """
        foreign = self._foreign_lines()
        entries = [entry for entry in self._staged() if entry.staged_line in foreign]
        with self._set_aside(entries):
            text = str(message).encode("utf-8", "surrogateescape")
            self._git(*_COMMIT, stdin=text, hooks=self._hooks)
        Staging().save(self._run.state)
        return self._git("rev-parse", "HEAD").decode().strip()

    def _foreign_lines(self) -> frozenset[str]:
        """Return the staged lines of others' entries; their committed state may have changed."""
        return frozenset(entry.staged_line for entry in self._saved().foreign)

    @contextmanager
    def _set_aside(self, entries: Sequence[IndexEntry]) -> Iterator[None]:
        if not entries:
            yield
            return
        self._save(set_aside=tuple(entries))
        try:
            self._update_index([entry.committed_line for entry in entries])
            yield
        finally:
            with STOP.hold():
                self.put_back()

    def _saved(self) -> Staging:
        return read_staging(self._run.state)

    def _save(self, **changes: Any) -> None:
        """Change fields of the saved state."""
        replace(self._saved(), **changes).save(self._run.state)

    # git itself

    def _staged(self) -> list[IndexEntry]:
        """Return how the index differs from the last commit, or from nothing before the first."""
        return read_index_changes(os.fsdecode(self._git(*_STAGED, *_ENTRIES)))

    def _add(self, paths: Sequence[str]) -> None:
        if paths:
            listing = os.fsencode("\0".join(paths))
            options = ("--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
            self._run.git("--literal-pathspecs", *self._at_top, "add", *options, stdin=listing)

    def _update_index(self, lines: Sequence[str]) -> None:
        self._git("update-index", "-z", "--index-info", stdin=os.fsencode("".join(lines)))

    def _git(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        hooks: bool = False,
    ) -> bytes:
        return self._run.git(*self._at_top, *args, stdin=stdin, check=check, hooks=hooks)

    @property
    def _at_top(self) -> tuple[str, str]:
        return "-C", str(self.top)
