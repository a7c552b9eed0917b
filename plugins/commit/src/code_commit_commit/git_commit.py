"""Commit the changes of a run with git, after its success."""

from __future__ import annotations

import os
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, MessageLogged, NotReady, join_paths, printable
from code_commit_commit.replacements import differs
from code_commit_workspace import (
    STOP,
    find_in_repository,
    git_status,
    overlooked_by_git,
    require_settled,
    skipped_by_commit,
    unknown_author,
)

if TYPE_CHECKING:
    from code_commit.plugin_api import Run

WIDTH = 72
_MOST_LINES = 20  # of the body
_MOST_PATHS = 10  # in a command for people
_COMMIT = ("-c", "i18n.commitEncoding=utf-8", "commit", "--quiet", "--cleanup=whitespace")
_FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")
_AUTHOR = 'run `git config --global user.name "Your Name"` and `git config --global user.email you@example.com`'


class GitCommit:
    """The commit at the end of a run.

    It remembers which files had uncommitted changes before the run.

    Raises:
        NotReady: git could not commit at the end.
    """

    def __init__(self, run: Run, message: str) -> None:
        self._run = run
        self._message = message
        self._hooks: bool = run.settings.commit_hooks
        self._folder, self._prefix = find_in_repository(
            run.git, run.root, run.repository_root, hooks=self._hooks
        )
        require_settled(self._folder, run.repository_root)
        if reason := unknown_author(self._git):
            raise NotReady(f"git has no name or address for commits: {reason}", hint=_AUTHOR)
        before = git_status(self._git)
        if unmerged := [entry.path for entry in before if entry.unmerged]:
            raise NotReady(
                f"not merged yet: {join_paths(unmerged)}",
                hint="resolve the conflicts, then `git add` them",
            )
        self._before = frozenset(entry.path for entry in before)
        if not self._hooks and (skipped := skipped_by_commit(self._git)):
            text = f"the commit will skip {join_paths(skipped)}: commit_hooks is off in [plugins.commit]"
            run.emit(MessageLogged(text))

    def make(self, changes: Sequence[Change]) -> str:
        """Commit the files of `changes` as they are on disk, and nothing else; return the commit's
        id.

        Raises:
            NotReady: git refused, or the commit would contain changes from before the run. The
                index is unchanged.
        """
        paths = [change.path for change in changes]
        by_hand = f"to commit by hand: `git add -A -- {shlex.join(paths)}`, then `git commit`"
        if len(paths) > _MOST_PATHS:
            by_hand = "to commit by hand: `git status`, `git add` and `git commit`"
        try:
            return self._committed(changes)
        except NotReady as error:
            raise NotReady(error.message, hint=error.hint or by_hand) from error

    def branch(self) -> str:
        """Return the name of the branch, or "a detached HEAD"."""
        name = self._git("branch", "--show-current").decode("utf-8", "backslashreplace").strip()
        return name or "a detached HEAD"

    def _committed(self, changes: Sequence[Change]) -> str:
        require_settled(self._folder, self._run.repository_root)
        status = {entry.path: entry for entry in git_status(self._git)}
        changed = [self._prefix + change.path for change in changes]
        ours = [path for path in changed if path in status]
        if len(ours) < len(changed):
            self._require_seen(changed)
        if not ours:
            raise NotReady("there is no difference from the last commit")
        if mixed := [path for path in ours if path in self._before or status[path].staged]:
            raise NotReady(
                f"these files had uncommitted changes before the run: {join_paths(mixed)}"
            )
        others_staged = any(entry.staged for entry in status.values())
        try:
            self._git(
                "update-index",
                "--add",
                "--remove",
                "--replace",
                "-z",
                "--stdin",
                stdin=_listing(ours),
            )
            # `--only` leaves out files that others staged; without such files, commit the index.
            only = ("--only", *_FROM_STDIN) if others_staged else ()
            options = (*_COMMIT, f"--message={self._message}", *only)
            # git reads a file that became a folder as a submodule; the files in the folder replace
            # it.
            folders = {str(parent) for path in ours for parent in PurePosixPath(path).parents}
            named = _listing(
                [path for path in ours if path not in folders or status[path].tree != "D"]
            )
            self._git("--literal-pathspecs", *options, stdin=named, hooks=self._hooks)
        except BaseException:
            reset = ("--literal-pathspecs", "reset", "--quiet", *_FROM_STDIN)
            with STOP.hold():
                self._git(*reset, stdin=_listing(ours), check=False)
            raise
        if altered := [change.path for change in changes if differs(change, self._run.tree)]:
            text = f"committed as they are on disk, which is not what the responses wrote: {join_paths(altered)}"
            self._run.emit(MessageLogged(text, level="warning"))
        if others := sorted(status.keys() - self._before - set(ours)):
            text = f"not committed, because no response changed them: {join_paths(others, 5)}"
            self._run.emit(MessageLogged(text))
        return self._git("rev-parse", "HEAD").decode().strip()

    def _require_seen(self, paths: Sequence[str]) -> None:
        flags = overlooked_by_git(self._git)
        if overlooked := [path for path in paths if path in flags]:
            path, flag = overlooked[0].removeprefix(self._prefix), flags[overlooked[0]]
            hint = f"`git update-index --no-{flag} -- {shlex.quote(path)}` ends that, then commit by hand"
            raise NotReady(
                f"git is told to overlook changes of {join_paths(overlooked)}", hint=hint
            )

    def _git(
        self, *args: str, stdin: bytes = b"", check: bool = True, hooks: bool = False
    ) -> bytes:
        return self._run.git(
            "-C", str(self._run.repository_root), *args, stdin=stdin, check=check, hooks=hooks
        )


def commit_message(query: str, run: str, model: str) -> str:
    """Return the message of the commit: the query's first line, the rest of its first paragraph,
    trailers.
    """
    lines = [
        " ".join(printable(line, newlines=False).split()) for line in query.strip().splitlines()
    ]
    first, *others = lines[: lines.index("")] if "" in lines else lines
    subject, *rest = textwrap.wrap(first.lstrip("# ") or "Change the code", WIDTH)
    body = [row for line in (" ".join(rest), *others) for row in textwrap.wrap(line, WIDTH)][
        :_MOST_LINES
    ]
    trailers = [f"Code-Commit-Run: {run}", f"Model: {printable(model, newlines=False)}"]
    return "\n".join([subject, "", *body, *[""] * bool(body), *trailers, ""])


def _listing(paths: Sequence[str]) -> bytes:
    return os.fsencode("\0".join(paths))
