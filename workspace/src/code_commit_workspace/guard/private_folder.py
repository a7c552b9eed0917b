"""Check the folder for keys and settings: none of it may come from git."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.small_file import read_in_project

_LIMIT = 16 * 1024 * 1024  # bytes
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def check_private_folder(
    root: Path,
    private_folder: str,
    *,
    hint: str = "",
) -> None:
    """Check that `.gitignore` lists the private folder, and that git tracks nothing in it.

    Call this before you read any setting or key of the project: one that came with a repository is
    somebody else's. If git fails, the check fails. `hint` says how to add the line, if not by hand.

    Raises:
        NotReady: the line in `.gitignore` is missing, git tracks something in the folder, or git
            failed.
    """
    require_gitignore_line(root, private_folder, hint=hint)
    _require_untracked(root, private_folder)


def require_gitignore_line(
    root: Path,
    private_folder: str,
    *,
    hint: str = "",
) -> None:
    """Check that `.gitignore` in `root` ignores the private folder.

    Raises:
        NotReady: the file or the line is missing, or a later line negates it.
    """
    if not hint:
        hint = (
            f"add the line /{private_folder} to the project's .gitignore, "
            "so that no key can be committed"
        )
    file = root / ".gitignore"
    content = read_in_project(root, ".gitignore", limit=_LIMIT)
    if content is None:
        raise NotReady(f"{file} is missing; it must contain the line /{private_folder}", hint=hint)
    lines = [_pattern(line) for line in content.removeprefix(_BYTE_ORDER_MARK).split(b"\n")]
    accepted = {f"{before}{private_folder}{after}" for before in ("", "/") for after in ("", "/")}
    places = [place for place, line in enumerate(lines) if line in accepted]
    if not places:
        raise NotReady(f"{file} has no line /{private_folder}", hint=hint)
    last = places[-1]
    for number, line in enumerate(lines[last:], start=last + 1):
        if line.startswith("!") and _takes_back(line, private_folder):
            raise NotReady(
                f"line {number} of {file} negates the line /{private_folder}",
                hint=f"move the line /{private_folder} to the end of the file",
            )


def _require_untracked(root: Path, private_folder: str) -> None:
    from code_commit_workspace.git import Git, GitError

    try:
        # A repository around the project's own can track files in the folder, too.
        for git in Git(root).with_those_around():
            listing = git.run(["ls-files", "-z", "--", *_patterns_of_alike(private_folder)])
            tracked = os.fsdecode(listing).split("\0")[:-1]
            _require_outside(tracked, private_folder)
    except GitError as error:
        raise NotReady(
            f"git cannot check whether it tracks {private_folder}: {error}",
            hint="fix the repository, then run again",
        ) from error
    if os.path.lexists(root / private_folder / ".git"):
        raise NotReady(
            f"{private_folder} is a git repository itself, so it may not be yours",
            hint=f"check its files; if they are yours, delete {private_folder}/.git",
        )


def _patterns_of_alike(name: str) -> list[str]:
    """Return patterns for every path that some file system may take for `name`.

    They match some more paths.
    """
    start = re.sub(r"([*?\[\\])", r"\\\1", name)
    patterns = [f":(icase,glob)*{start}*", f":(icase,glob)*{start[:4]}*~*", ":(glob)*[!\x01-\x7f]*"]
    return [pattern + below for pattern in patterns for below in ("", "/**")]


def _require_outside(paths: Sequence[str], private_folder: str) -> None:
    """Check that no file system takes one of the tracked `paths` for one in the folder.

    Raises:
        NotReady: one does.
    """
    if not paths:
        return
    from code_commit_workspace.guard.protected import ProtectedNames
    from code_commit_workspace.records import Protected

    names = ProtectedNames([Protected(private_folder)])
    for path in paths:
        if names.find(path):
            quoted = shlex.quote(path)
            raise NotReady(
                f"git tracks {path}, so it came with the repository and may not be yours",
                hint=f"check the file; if it is yours, run `git rm --cached -- {quoted}`",
            )


def _pattern(line: bytes) -> str:
    """Return the pattern as git reads the line: without CR and trailing blanks."""
    text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
    stripped = text.rstrip(" ")
    if stripped.endswith("\\"):
        return text
    return stripped


def _takes_back(negation: str, private_folder: str) -> bool:
    """Return whether a negated pattern matches the folder.

    Negated patterns for files in it do not count: git cannot include a file of an ignored folder.
    """
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines([negation[1:]]).match_file(f"{private_folder}/")
    except ValueError:  # git ignores an invalid pattern
        return False
    except re.error:  # pathspec does not escape everything that git allows in brackets
        return True
