"""Commit the changes of a run with git, after its success."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, MessageLogged, NotReady, join_paths, printable
from code_commit_commit.replacements import differs
from code_commit_workspace import STOP, NextCommit

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_workspace import StatusEntry

WIDTH = 72
_MOST_LINES = 20  # of the body
_MOST_PATHS = 10  # in a command for people
_COMMIT = ("-c", "i18n.commitEncoding=utf-8", "commit", "--quiet", "--cleanup=whitespace")
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")
_STAGE = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
_UNSTAGE = ("--literal-pathspecs", "reset", "--quiet", *_FROM_STDIN)
_AUTHOR = (
    'run `git config --global user.name "Your Name"` and `git config --global user.email '
    "you@example.com`"
)


def require_can_commit(next_commit: NextCommit) -> Sequence[StatusEntry]:
    """Check that git could commit, and return what differs from the last commit.

    Raises:
        NotReady: it could not.
    """
    next_commit.require_settled()
    if reason := next_commit.unknown_author():
        raise NotReady(f"git has no name or address for commits: {reason}", hint=_AUTHOR)
    entries = next_commit.status()
    if unmerged := [entry.path for entry in entries if entry.unmerged]:
        raise NotReady(
            f"not merged yet: {join_paths(unmerged)}",
            hint="resolve the conflicts, then `git add` them",
        )
    return entries


class GitCommit:
    """The commit at the end of a run, with the `message` that it has by then.

    It remembers which files had uncommitted changes before the run.

    Raises:
        NotReady: git could not commit at the end.
    """

    def __init__(self, run: Run, message: Callable[[], str]) -> None:
        self._run = run
        self._message = message
        self._hooks: bool = run.settings.commit_hooks
        self._next = NextCommit(self._git, run.root, run.repository_root, hooks=self._hooks)
        self._before = frozenset(entry.path for entry in require_can_commit(self._next))
        if skipped := self._next.skipped():
            text = (
                f"the commit will skip {join_paths(skipped)}: commit_hooks is off in "
                "[plugins.commit]"
            )
            run.emit(MessageLogged(text))

    def make(
        self, changes: Sequence[Change], trailers: Mapping[str, str], merged: Collection[str]
    ) -> str:
        """Commit the files of `changes` as they are on disk, and nothing else.

        `trailers` are added to the message. `merged` have a person's changes, too. Return the
        commit's id.

        Raises:
            NotReady: git refused, or the commit would contain changes from before the run. The
                index is unchanged.
        """
        facts = [f"{name}: {self._run.redacted(text)}\n" for name, text in trailers.items()]
        message = self._message() + "".join(facts)
        paths = [change.path for change in changes]
        by_hand = f"to commit by hand: `git add -A -- {shlex.join(paths)}`, then `git commit`"
        if len(paths) > _MOST_PATHS:
            by_hand = "to commit by hand: `git status`, `git add` and `git commit`"
        try:
            commit_id = self._committed(changes, message)
        except NotReady as error:
            raise NotReady(error.message, hint=error.hint or by_hand) from error
        if with_changes := sorted(merged):
            text = f"committed with changes of yours: {join_paths(with_changes)}"
            self._run.emit(MessageLogged(text))
        return commit_id

    def branch(self) -> str:
        """Return the name of the branch, or "a detached HEAD"."""
        name = self._git("branch", "--show-current").decode("utf-8", "backslashreplace").strip()
        return name or "a detached HEAD"

    def _committed(self, changes: Sequence[Change], message: str) -> str:
        self._next.require_settled()
        status = {entry.path: entry for entry in self._next.status()}
        changed = [self._next.prefix + change.path for change in changes]
        paths = [path for path in changed if path in status]
        if len(paths) < len(changed):
            self._require_seen(changed)
        if not paths:
            raise NotReady("there is no difference from the last commit")
        if mixed := [path for path in paths if path in self._before or status[path].staged]:
            raise NotReady(
                f"these files had uncommitted changes before the run: {join_paths(mixed)}"
            )
        self._commit_paths(paths, status, message)
        self._report(changes, not_committed=status.keys() - self._before - set(paths))
        return self._git("rev-parse", "HEAD").decode().strip()

    def _commit_paths(
        self,
        paths: Sequence[str],
        status: Mapping[str, StatusEntry],
        message: str,
    ) -> None:
        """Commit `paths` with a `message`, and restore the index if git refuses."""
        options = [*_COMMIT, f"--message={message}"]
        # `--only` leaves out files that a person staged; without such files, commit the index.
        if any(entry.staged for entry in status.values()):
            options += ["--only", *_FROM_STDIN]
        # git reads a file that became a folder as a submodule; the files in the folder replace it.
        folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
        named = [path for path in paths if path not in folders or status[path].tree != "D"]
        try:
            self._git(*_STAGE, stdin=_listing(paths))
            self._git("--literal-pathspecs", *options, stdin=_listing(named), hooks=self._hooks)
        except BaseException:
            with STOP.hold():
                self._git(*_UNSTAGE, stdin=_listing(paths), check=False)
            raise

    def _report(self, changes: Sequence[Change], not_committed: Collection[str]) -> None:
        """Log what the commit has that no response wrote, and what it leaves out."""
        if altered := [change.path for change in changes if differs(change, self._run.tree)]:
            text = (
                "committed as they are on disk, which is not what the responses wrote: "
                f"{join_paths(altered)}"
            )
            self._run.emit(MessageLogged(text, level="warning"))
        if not_committed:
            paths = join_paths(sorted(not_committed), 5)
            text = f"not committed, because no response changed them: {paths}"
            self._run.emit(MessageLogged(text))

    def _require_seen(self, paths: Sequence[str]) -> None:
        flags = self._next.overlooked()
        if overlooked := [path for path in paths if path in flags]:
            path, flag = overlooked[0].removeprefix(self._next.prefix), flags[overlooked[0]]
            hint = (
                f"`git update-index --no-{flag} -- {shlex.quote(path)}` ends that, "
                "then commit by hand"
            )
            raise NotReady(
                f"git is told to overlook changes of {join_paths(overlooked)}", hint=hint
            )

    def _git(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        hooks: bool = False,
    ) -> bytes:
        return self._run.git(
            "-C", str(self._run.repository_root), *args, stdin=stdin, check=check, hooks=hooks
        )


def commit_message(query: str, run: str, model: str) -> str:
    """Return the message of the commit.

    It has the query's first line, the rest of its first paragraph, and trailers.
    """
    lines = [
        " ".join(printable(line, newlines=False).split()) for line in query.strip().splitlines()
    ]
    first, *more_lines = lines[: lines.index("")] if "" in lines else lines
    subject, *more_words = textwrap.wrap(first.lstrip("# ") or "Change the code", WIDTH)
    body: list[str] = []
    for line in (" ".join(more_words), *more_lines):
        body += textwrap.wrap(line, WIDTH)
    message = [subject, ""]
    if body:
        message += [*body[:_MOST_LINES], ""]
    message += [f"Code-Commit-Run: {run}", f"Model: {printable(model, newlines=False)}", ""]
    return "\n".join(message)


def _listing(paths: Sequence[str]) -> bytes:
    return os.fsencode("\0".join(paths))
