"""Find the repository of a folder as git does, but without reading its configuration.

gitrepository-layout(5) describes `commondir` and `.git` files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import is_file, is_folder, is_link
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.git.control_files import require_plain

_HEAD = re.compile(rb"ref:\s*refs/.+|[0-9a-f]{40}(?:[0-9a-f]{24})?\s*", re.DOTALL)
SMALL = 4 * 1024 * 1024
"""Bytes; more than a file of git that we read has."""
TRUE = frozenset({"true", "yes", "on", "1"})
"""The values by which git understands that something is switched on."""


class GitError(NotReady):
    """A git command failed; the message is git's."""


class NoRepository(NotReady):
    """The root is not in a git repository."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository is.

    `top` is the top of its work tree, `folder` git's own folder, and `common` the one that linked
    work trees share. `is_ours` is whether we created the repository.
    """

    top: Path
    folder: Path
    common: Path
    is_ours: bool = False


def find_repositories(folder: Path, environ: Mapping[str, str]) -> Iterator[Place]:
    """Yield the repository in whose work tree `folder` is, then those around that one.

    Raises:
        GitError: a `.git` is unusable, or a folder cannot be read.
    """
    here = Path(os.path.realpath(folder))
    listed = environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    ceilings = {os.path.realpath(ceiling) for ceiling in listed if ceiling}
    across_devices = environ.get("GIT_DISCOVERY_ACROSS_FILESYSTEM", "").lower() in TRUE
    try:
        device = here.stat().st_dev
        for top in (here, *here.parents):
            if top != here and str(top) in ceilings:
                return
            if not across_devices and top.stat().st_dev != device:
                return
            if (place := _place_at(top)) is not None:
                yield place
            elif top == here and _is_git_folder(top, _common(top)):
                raise GitError(f"{top} is the git folder of a repository, not its work tree")
    except OSError as error:
        raise GitError(f"{here} cannot be opened to find a repository: {error.strerror}") from error


def _place_at(top: Path) -> Place | None:
    """Return the repository whose work tree begins at `top`, or None.

    Raises:
        GitError: its `.git` is unusable. git itself would go on searching above it.
        NotReady: it is a pipe or a device, or has one in place of a file.
    """
    git = top / ".git"
    if not os.path.lexists(git):
        return None
    require_plain([git])
    folder = git
    if is_file(git):
        content = read_git_file(git)
        if not content.startswith(b"gitdir: "):
            raise GitError(f"invalid gitfile format: {git}")
        folder = top / os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    elif is_folder(git) and not any(git.iterdir()):
        return None
    folder = Path(os.path.realpath(folder))
    require_plain([folder / "HEAD", folder / "commondir"])
    common = _common(folder)
    if not _is_git_folder(folder, common):
        raise GitError(f"not a git repository: {folder}")
    return Place(top, folder, common)


def _common(folder: Path) -> Path:
    try:
        content = read_git_file(folder / "commondir")
    except OSError:
        return folder
    path = os.fsdecode(content.rstrip(b"\r\n"))
    return Path(os.path.realpath(folder / path))


def _is_git_folder(folder: Path, common: Path) -> bool:
    head = folder / "HEAD"
    try:
        if is_link(head):
            valid = str(head.readlink()).startswith("refs/")
        else:
            valid = _HEAD.fullmatch(read_git_file(head)) is not None
    except OSError:
        return False
    return valid and is_folder(common / "objects") and is_folder(common / "refs")


def read_git_file(path: Path, *, limit: int = SMALL) -> bytes:
    """Return the content of one of git's files, up to `limit` bytes; all of it with -1.

    Raises:
        OSError: it cannot be read.
    """
    with open_regular(path, follow=True) as file:
        return file.read(limit)


def foreign_part(place: Place, environ: Mapping[str, str]) -> Path | None:
    """Return the first part of a repository that another user owns, or None.

    As in git, root trusts sudo's user.
    """
    trusted_users = {os.geteuid()}
    sudo = environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and sudo.isdecimal():
        trusted_users.add(int(sudo))
    for part in (place.top, place.top / ".git", place.folder):
        if os.path.lexists(part) and os.lstat(part).st_uid not in trusted_users:
            return part
    return None
