"""Find the files in a project that control git: `.gitignore` files, and nested repositories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.git import Git, GitError
from code_commit_workspace.process.folders import CACHE_MARKS, CONTROL_NAMES, Folders

_MANY = 64  # with more folders at one depth, ask git which of them it ignores

FindIgnored = Callable[[Sequence[str]], frozenset[str]]


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """The files in folders that git does not ignore, relative to the root.

    `rules` are `.gitignore` files, and the marks of caches. `folders` are the folders in which a
    new `.gitignore` would count, ignored or not. `repositories` are folders with a `.git`. `links`
    are links with the name of a control file, `special` are pipes, devices and sockets that git
    would open.
    """

    rules: tuple[str, ...]
    folders: frozenset[str]
    repositories: tuple[str, ...]
    links: frozenset[str]
    special: tuple[str, ...]


def find_checked_files(
    tree: Folders,
    *,
    known: frozenset[str],
    not_searched: frozenset[str],
    ignored: FindIgnored | None,
) -> CheckedFiles:
    """Find the control files in `tree`, except in the folders `not_searched` at the root.

    In `known` folders, the marks of a cache count, too: a build could hide a `.gitignore` behind
    one.
    """
    rules: list[str] = []
    folders: set[str] = set()
    repositories: list[str] = []
    links: list[str] = []
    special: list[str] = []
    level = [""]
    while level:
        below: list[str] = []
        for folder in level:
            content = tree.content(folder)
            left_out = {".git"} if folder else {".git", *not_searched}
            below += (_join(folder, name) for name in content.folders if name not in left_out)
            links += (_join(folder, name) for name in content.links & CONTROL_NAMES)
            special += (_join(folder, name) for name in content.special)
            if folder and ".git" in content.names:
                repositories.append(folder)
            counting_names = content.names & {".gitignore"}
            if folder:
                marks = content.names & CACHE_MARKS
                if marks and folder not in known:
                    continue  # a cache or virtual environment, which builds may empty
                counting_names |= marks
            folders.add(folder)
            rules += (_join(folder, name) for name in counting_names)
        level = _not_ignored(below, ignored) if len(below) > _MANY else below
    nested = [folder_of(path) for path in (*rules, *links, *special) if "/" in path]
    nested = list(dict.fromkeys((*nested, *repositories)))
    counting = {"", *_not_ignored(nested, ignored)}

    def in_counting(paths: Iterable[str]) -> list[str]:
        return sorted(path for path in paths if folder_of(path) in counting)

    return CheckedFiles(
        rules=tuple(in_counting(rules)),
        folders=frozenset(folders),
        repositories=tuple(sorted(counting.intersection(repositories))),
        links=frozenset(in_counting(links)),
        special=tuple(in_counting(special)),
    )


def folder_of(path: str) -> str:
    """Return the folder of a path relative to the root; "" is the root."""
    return path.rpartition("/")[0]


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _not_ignored(folders: list[str], ignored: FindIgnored | None) -> list[str]:
    """Return the `folders` that git does not ignore."""
    if not folders or ignored is None:
        return folders
    try:
        left_out = ignored(folders)
    except Exception:  # noqa: BLE001 - if git fails (its config may be what was altered), all count
        return folders
    return [folder for folder in folders if folder not in left_out]


def checked_outside(git: Git) -> tuple[Path, ...]:
    """Return what checks the project from outside.

    These are git's folders, and the `.gitignore` files of a repository above.
    """
    try:
        layout = git.layout()
    except GitError:
        return ()  # a reader may run without git
    folders = [folder for folder in layout.folders if folder != git.root / ".git"]
    above = [parent for parent in git.root.parents if parent.is_relative_to(layout.top)]
    return (*folders, *(parent / ".gitignore" for parent in above))
