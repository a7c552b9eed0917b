"""Questions to git before a commit: what differs from the last commit, and what would spoil the
next one.
"""

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
        self, *args: str, stdin: bytes = b"", check: bool = True, hooks: bool = False
    ) -> bytes: ...


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """A line of `git status`: the state in the index, the state in the work tree, the path from the
    top.
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


def git_status(git: GitCommand) -> list[StatusEntry]:
    """Return every file of the repository that differs from the last commit, untracked files
    included.
    """
    rows = os.fsdecode(git(*_STATUS)).split("\0")
    return [StatusEntry(row[0], row[1], row[3:]) for row in rows if row]


def overlooked_by_git(git: GitCommand) -> dict[str, str]:
    """Return the tracked files whose changes git was told to overlook, each with the flag that says
    so.
    """
    rows = os.fsdecode(git("ls-files", "-v", "-z")).split("\0")
    overlooked = [row for row in rows if row[:1].islower() or row[:1] == "S"]
    return {row[2:]: "skip-worktree" if row[0] == "S" else "assume-unchanged" for row in overlooked}


def unknown_author(git: GitCommand) -> str | None:
    """Return why git knows no author name or address, so that it cannot commit; else None."""
    try:
        for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            git("var", who)
    except NotReady as error:
        return error.message.strip().rpartition("\n")[2]
    return None


def find_in_repository(git: GitCommand, root: Path, top: Path, *, hooks: bool) -> tuple[Path, str]:
    """Return git's own folder, and the path of `root` below `top` as git begins paths: empty, or
    with a final slash.

    Raises:
        NotReady: git failed.
    """
    folder = git("rev-parse", "--absolute-git-dir", hooks=hooks).removesuffix(b"\n")
    inside = Path(os.path.realpath(root)).relative_to(top)
    return Path(os.fsdecode(folder)), "" if inside == Path() else f"{inside.as_posix()}/"


def require_settled(folder: Path, top: Path) -> None:
    """Check that no other operation would end with the next commit.

    `folder` is git's own, `top` that of the work tree.

    Raises:
        NotReady: a merge, cherry-pick, revert or rebase is in progress; a commit would end it
            incompletely.
    """
    for name, what in _IN_PROGRESS.items():
        if os.path.lexists(folder / name):
            raise NotReady(
                f"{what} is in progress in {top}", hint="finish or abort it, then run again"
            )


def skipped_by_commit(git: GitCommand) -> list[str]:
    """Return what the repository configures and a commit without `hooks` skips: the signature,
    hooks.
    """
    # The last is ours.
    *configured, _ = git("config", "--type=bool", "--get-all", "commit.gpgSign").split()
    skipped = ["the signature"] * (configured[-1:] == [b"true"])
    try:
        folder = os.fsdecode(
            git("config", "--get", "core.hooksPath", hooks=True).removesuffix(b"\n")
        )
    except NotReady:
        return [*skipped, "the hooks in the project"]
    return skipped + [
        f"the hook {name}" for name in _HOOKS if os.access(f"{folder}/{name}", os.X_OK)
    ]
