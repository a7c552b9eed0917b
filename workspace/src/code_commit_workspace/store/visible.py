"""Select the files that the store keeps, among those that git tracks or does not ignore."""

from __future__ import annotations

import os
import posixpath
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.move.plan import check_path

Statuses = Mapping[str, os.stat_result]
"""The status of each file, by path."""


def savable(paths: Iterable[str], git: Git, private_folder: str) -> list[str]:
    """Return those of `paths` that the store may keep.

    Leave out nested repositories, the private folder, and git's own folders under any name.
    """
    git_folders = tuple(_below(git.root, git.layout().folders))
    return [
        path
        for path in paths
        if _is_allowed(path, private_folder) and not path.startswith(git_folders)
    ]


def statuses(tree: ProjectTree, paths: Iterable[str]) -> dict[str, os.stat_result]:
    """Return the status, by path, of each regular file and link that this account can read."""
    names_by_folder: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        folder, name = posixpath.split(path)
        names_by_folder[folder].append(name)
    return dict(_statuses_by_folder(tree, names_by_folder))


def _below(root: Path, folders: Iterable[Path]) -> Iterator[str]:
    """Yield the path prefixes, relative to `root`, of those `folders` that are below it."""
    top = Path(os.path.realpath(root))
    for folder in folders:
        real = Path(os.path.realpath(folder))
        if real != top and real.is_relative_to(top):
            yield f"{real.relative_to(top).as_posix()}/"


def _is_allowed(path: str, private_folder: str) -> bool:
    try:
        check_path(path, private_folder)
    except ValueError:
        return False  # also `folder/`, a nested repository
    return True


def _statuses_by_folder(
    tree: ProjectTree, names_by_folder: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, os.stat_result]]:
    for folder, names in names_by_folder.items():
        prefix = f"{folder}/" if folder else ""
        try:
            with tree.folder(folder) as handle:
                for name in names:
                    status = _savable_status(handle, name)
                    if status is not None:
                        yield f"{prefix}{name}", status
        except OSError:
            continue  # gone, or behind a link


def _savable_status(folder: int, name: str) -> os.stat_result | None:
    """Return the status of a link or a readable regular file, or None for anything else."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return status
    if not stat.S_ISREG(status.st_mode):
        return None
    if status.st_mode & stat.S_IRUSR and status.st_uid == os.geteuid():
        return status
    if os.access(name, os.R_OK, dir_fd=folder, effective_ids=True):
        return status
    return None
