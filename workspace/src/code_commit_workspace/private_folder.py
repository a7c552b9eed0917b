"""The folder for keys and settings. It must not come from git."""

from __future__ import annotations

import os
import re
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.folding import folded
from code_commit_workspace.small_file import read_in_project
from code_commit_workspace.transaction.home import PRIVATE_FOLDER

_LIMIT = 16 * 1024 * 1024


def check_private_folder(root: Path, private_folder: str = PRIVATE_FOLDER, *, hint: str = "") -> None:
    """Check that `.gitignore` keeps the private folder out of git, and that git brings no part of it along.

    Call it before any setting or key of the project is read: one that came with a repository is somebody else's. Any
    error of git counts as if it did. `hint` says how to add the line, if not by hand.

    Raises:
        NotReady: the line in `.gitignore` is missing, or git tracks something of the folder.
    """
    require_gitignore_line(root, private_folder, hint=hint)
    _require_untracked(root, private_folder)


def require_gitignore_line(root: Path, private_folder: str = PRIVATE_FOLDER, *, hint: str = "") -> None:
    """Check that `.gitignore` in `root` ignores the private folder.

    Raises:
        NotReady: the file or the line is missing, or a later line takes it back.
    """
    hint = hint or f"add the line /{private_folder} to the project's .gitignore, so that no key can be committed"
    accepted = {f"{before}{private_folder}{after}" for before in ("", "/") for after in ("", "/")}
    content = read_in_project(root, ".gitignore", limit=_LIMIT)
    if content is None:
        raise NotReady(f"{root / '.gitignore'} is missing, and with it the line /{private_folder}", hint=hint)
    lines = [_pattern(line) for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    wanted = [number for number, line in enumerate(lines) if line in accepted]
    if not wanted:
        raise NotReady(f"{root / '.gitignore'} holds no line for /{private_folder}", hint=hint)
    for number, line in enumerate(lines[wanted[-1] :], start=wanted[-1] + 1):
        if line.startswith("!") and _takes_back(line, private_folder):
            raise NotReady(
                f"line {number} of {root / '.gitignore'} takes the line for /{private_folder} back",
                hint=f"move the line /{private_folder} to the end of the file",
            )


def _require_untracked(root: Path, private_folder: str) -> None:
    from code_commit_workspace.git import Git, GitError, NoRepository

    git = Git(root)
    # In any case of its letters; and what some file system takes for it: all such names hold other signs than ASCII.
    spelled_alike = (f":(icase){private_folder}", ":(glob)*[!\x01-\x7f]*", ":(glob)*[!\x01-\x7f]*/**")
    try:
        listing = git.run(["ls-files", "-z", "--", *spelled_alike])
    except GitError as error:
        try:
            git.require_repository()
        except NoRepository:
            return  # no repository, so nothing is tracked
        raise NotReady(
            f"git cannot tell whether it tracks {private_folder}: {error}", hint="fix the repository, and run again"
        ) from error
    for path in os.fsdecode(listing).split("\0"):
        if folded(path.partition("/")[0]) == folded(private_folder):
            raise NotReady(
                f"git tracks {path}, so it came with the repository and may not be yours",
                hint=f"read it; if it is yours, `git rm --cached {path}`",
            )
    if os.path.lexists(root / private_folder / ".git"):
        raise NotReady(
            f"{private_folder} is a git repository of its own, so it may not be yours",
            hint=f"read what is in it; if it is yours, delete {private_folder}/.git",
        )


def _pattern(line: bytes) -> str:
    """Return the pattern as git reads the line: without its CR and its trailing blanks."""
    text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
    stripped = text.rstrip(" ")
    return text if stripped.endswith("\\") else stripped


def _takes_back(negation: str, private_folder: str) -> bool:
    """Whether a negated pattern matches the folder. What lies in an ignored folder cannot be taken back by itself."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines([negation[1:]]).match_file(f"{private_folder}/")
    except ValueError:  # git ignores an invalid pattern
        return False
    except re.error:  # pathspec does not escape all that git allows in brackets
        return True
