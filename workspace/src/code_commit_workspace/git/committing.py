"""Ask git what differs from the last commit, and what would spoil the next one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from code_commit_workspace.errors import NotReady

_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
_UNMERGED = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
"""Files in git's folder that show an unfinished operation, such as a merge."""
_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


class GitCommand(Protocol):
    """Runs `git *args` in the project, as `Run.git` does, and returns its standard output.

    Raises:
        NotReady: git failed.
    """

    def __call__(
        self,
        *args: str,
        stdin: bytes = b"",
        check: bool = True,
        hooks: bool = False,
    ) -> bytes: ...


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """A line of `git status`: the state in the index and in the work tree, and the path.

    The path is relative to the top of the work tree.
    """

    index: str
    tree: str
    path: str

    @property
    def unmerged(self) -> bool:
        """Return whether a merge left it unresolved."""
        return self.index + self.tree in _UNMERGED

    @property
    def staged(self) -> bool:
        """Return whether the index differs from the last commit."""
        return self.index not in {" ", "?"} and not self.unmerged

    @property
    def unstaged(self) -> bool:
        """Return whether the work tree differs from the index."""
        return self.tree != " " and not self.unmerged

    def __str__(self) -> str:
        """Return the line for people."""
        return f"{self.index}{self.tree} {self.path}"


class NextCommit:
    """The next commit of the repository with the work tree `top`.

    `git` runs git in `top`, as `Run.git` does with `-C`; `root` is the project in it. `folder` is
    git's own folder. `prefix` is `root` below `top` as git begins paths: empty, or with a final
    slash. With `hooks`, the commit runs the hooks of the repository, and is signed if configured.

    Raises:
        NotReady: git failed, or the hooks to run are in the project itself.
    """

    def __init__(self, git: GitCommand, root: Path, top: Path, *, hooks: bool) -> None:
        self._git = git
        self._hooks = hooks
        self.top = top
        folder = git("rev-parse", "--absolute-git-dir", hooks=hooks).removesuffix(b"\n")
        self.folder = Path(os.fsdecode(folder))
        inside = Path(os.path.realpath(root)).relative_to(top)
        self.prefix = ""
        if inside != Path():
            self.prefix = f"{inside.as_posix()}/"

    def status(self) -> list[StatusEntry]:
        """Return every file that differs from the last commit, untracked files included."""
        rows = os.fsdecode(self._git(*_STATUS)).split("\0")
        return [StatusEntry(row[0], row[1], row[3:]) for row in rows if row]

    def overlooked(self) -> dict[str, str]:
        """Return the tracked files whose changes git overlooks, each with the flag that says so."""
        rows = os.fsdecode(self._git("ls-files", "-v", "-z")).split("\0")
        flags = {}
        for row in rows:
            if row[:1] == "S":
                flags[row[2:]] = "skip-worktree"
            elif row[:1].islower():
                flags[row[2:]] = "assume-unchanged"
        return flags

    def unknown_author(self) -> str | None:
        """Return why git knows no author name or address, so that it cannot commit; else None."""
        try:
            for variable in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
                self._git("var", variable)
        except NotReady as error:
            return error.message.strip().rpartition("\n")[2]
        return None

    def require_settled(self) -> None:
        """Check that no other operation would end with the next commit.

        Raises:
            NotReady: a merge, cherry-pick, revert or rebase is in progress; a commit would end it
                incompletely.
        """
        for name, operation in _IN_PROGRESS.items():
            if os.path.lexists(self.folder / name):
                raise NotReady(
                    f"{operation} is in progress in {self.top}",
                    hint="finish or abort it, then run again",
                )

    def skipped(self) -> list[str]:
        """Return what the repository configures and the commit skips: the signature, hooks."""
        if self._hooks:
            return []
        # The last value is ours.
        *configured, _ = self._git("config", "--type=bool", "--get-all", "commit.gpgSign").split()
        skipped: list[str] = []
        if configured[-1:] == [b"true"]:
            skipped.append("the signature")
        try:
            named = self._git("config", "--get", "core.hooksPath", hooks=True).removesuffix(b"\n")
        except NotReady:
            return [*skipped, "the hooks in the project"]
        folder = os.fsdecode(named)
        hooks = [name for name in _HOOKS if os.access(f"{folder}/{name}", os.X_OK)]
        return [*skipped, *(f"the hook {name}" for name in hooks)]
