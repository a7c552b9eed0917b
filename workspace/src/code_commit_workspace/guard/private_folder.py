"""Check folders of the user's own, such as that for keys: nothing in them may come from git."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.small_file import read_in_project

if TYPE_CHECKING:
    from code_commit_workspace.git import Git

_ANY_NAME = re.compile("")
_NOTHING: Mapping[str, re.Pattern[str]] = MappingProxyType({})
_LIMIT = 16 * 1024 * 1024  # bytes
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def check_private_folder(
    root: Path,
    private_folder: str,
    *,
    needs_line: bool = True,
    untracked: Mapping[str, re.Pattern[str]] = _NOTHING,
    hint: str = "",
) -> None:
    """Check that `.gitignore` lists the private folder, and that git tracks nothing in it.

    Call this before you read any setting or key of the project: one that came with a repository is
    somebody else's. A folder that git may see, such as that of logs, does not need the line.
    `untracked` are more folders, with the names that count in each: the names of what your program
    puts there, at their beginning. The folder itself always counts. If git fails, the check fails.
    `hint` says how to add the line, if not by hand.

    Raises:
        NotReady: the line in `.gitignore` is missing, git tracks something in a folder, or git
            failed.
    """
    if needs_line:
        require_gitignore_line(root, private_folder, hint=hint)
    _require_untracked(root, {private_folder: _ANY_NAME, **untracked})


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


def _require_untracked(root: Path, folders: Mapping[str, re.Pattern[str]]) -> None:
    from code_commit_workspace.git import Git, GitError

    patterns = [pattern for folder in folders for pattern in _patterns_of_alike(folder)]
    listing = ["ls-files", "-z", "--", *dict.fromkeys(patterns)]
    try:
        # A repository around the project's own can track files in the folders, too.
        for git in Git(root).with_those_around():
            tracked = os.fsdecode(git.run(listing)).split("\0")[:-1]
            if tracked:
                _require_outside(tracked, folders, git)
    except GitError as error:
        raise NotReady(
            f"git cannot check whether it tracks {' or '.join(folders)}: {error}",
            hint="fix the repository, then run again",
        ) from error
    for folder in folders:
        if os.path.lexists(root / folder / ".git"):
            raise NotReady(
                f"{folder} is a git repository itself, so it may not be yours",
                hint=f"check its files; if they are yours, delete {folder}/.git",
            )


def _patterns_of_alike(name: str) -> list[str]:
    """Return patterns for every path that some file system may take for `name`.

    They match some more paths.
    """
    start = re.sub(r"([*?\[\\])", r"\\\1", name)
    patterns = [f":(icase,glob)*{start}*", f":(icase,glob)*{start[:4]}*~*", ":(glob)*[!\x01-\x7f]*"]
    return [pattern + below for pattern in patterns for below in ("", "/**")]


def _require_outside(
    tracked: Sequence[str], folders: Mapping[str, re.Pattern[str]], git: Git
) -> None:
    """Check that no file system takes one of the `tracked` paths for one in `folders`.

    Raises:
        NotReady: one does.
    """
    from code_commit_workspace.guard.protected import ProtectedNames
    from code_commit_workspace.records import Protected

    names = ProtectedNames([Protected(folder) for folder in folders])
    places: dict[str, str] = {}  # with a path that git tracks there
    for path in tracked:
        folder, _, below = path.partition("/")
        match = names.find(path)
        if match is None:
            continue
        counting = folders[match[0].name]
        if not below or counting is _ANY_NAME:
            places.setdefault(folder, path)
        elif counting.match(below):
            places.setdefault(f"{folder}/{below.partition('/')[0]}", path)
    if places:
        path = next(iter(places.values()))
        command = _command_to_forget(places, git)
        raise NotReady(
            f"git tracks {path}, so it may be somebody else's",
            hint=f"check the files in {next(iter(places))}; if they are yours, run `{command}`",
        )


def _command_to_forget(places: Iterable[str], git: Git) -> str:
    """Return the command that stops tracking `places`, and keeps the files."""
    root = git.root.resolve()
    top = git.layout().top
    words = ["rm", "-r", "-f", "--cached", "--"]
    if top == root:
        return f"git {shlex.join([*words, *places])}"
    # In the project, git may use a repository of its own.
    below = [os.path.relpath(root / place, top) for place in places]
    return f"git {shlex.join(['-C', str(top), *words, *below])}"


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
