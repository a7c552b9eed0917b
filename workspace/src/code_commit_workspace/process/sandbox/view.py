"""Collect what the processes of a sandbox see: the mounts that differ from a read-only view of the
machine.

A path of the project is only taken as it is: what is behind a link is never mounted, because
whoever wrote the link would choose what is seen.
"""

from __future__ import annotations

import os
import pwd
import site
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.files.mount_table import (
    read_mount_table,
    second_places,
    views_of_processes,
)
from code_commit_workspace.files.path_kinds import is_folder, is_plain_folder, lexists
from code_commit_workspace.files.path_text import within
from code_commit_workspace.files.programs import leads_through, trusted_path
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.process.hard_links import files_below
from code_commit_workspace.process.sandbox.caches import pnpm_store
from code_commit_workspace.process.sandbox.hidden import credential_stores, service_sockets
from code_commit_workspace.process.sandbox.mounts import Mount
from code_commit_workspace.process.sandbox.private_folders import (
    PrivateFolders,
    home_folder,
    make_mount_point,
)

_MOST_REPOSITORIES = 32
# Mounts of repositories, and of rules, with those of the folders above them. Each takes half a
# millisecond. Rules that have none are still compared after each process; repositories are not.
_MOUNTS_OF_REPOSITORIES = 256
_MOUNTS_OF_RULES = 64
# Large caches that users download on purpose; they appear read-only in the private cache.
_SHARED_CACHES = ("ms-playwright", "puppeteer", "Cypress", "huggingface")


@dataclass(frozen=True, slots=True)
class Project:
    """The project at the real path `root`, and what no process may see or change.

    `hidden` are files and folders that exist or not. `read_only` returns names of files and folders
    in the project, `repositories` those of folders with a nested git repository; `protected` are
    other paths. `writable` and `readable` are real paths that the user opens besides the project.
    """

    root: str
    hidden: tuple[Path, ...]
    protected: tuple[Path, ...]
    read_only: Callable[[], Iterable[str]]
    repositories: Callable[[], Iterable[str]]
    writable: tuple[str, ...]
    readable: tuple[str, ...]

    def hidden_paths(self) -> list[str]:
        """Return the existing real paths that no process may see."""
        shown = (*self.writable, *self.readable)
        stores = (path for path in places_to_hide(credential_stores(homes())) if path not in shown)
        hidden = [*places_to_hide((*self.hidden, *service_sockets(os.environ))), *stores]
        table = read_mount_table()
        elsewhere = (*second_places(hidden, table), *views_of_processes(table))
        return [*hidden, *(path for path in places_to_hide(elsewhere) if path not in shown)]


@dataclass(frozen=True, slots=True)
class View:
    """What processes see.

    They see the private cache at `cache`, and a private store of pnpm at `store`, if any.

    `unprotected` describes what they can change nevertheless.
    """

    mounts: tuple[Mount, ...]
    cache: str
    store: str
    unprotected: str


def view_of(project: Project, private: PrivateFolders) -> View:
    """Return what the processes in `project` see; the last mount of a path counts.

    Raises:
        NotReady: there is no home folder.
        OSError: a mount point in a private folder cannot be created.
    """
    home = home_folder(os.environ)
    real_cache = f"{home.rstrip('/')}/.cache"
    cache = real_cache if is_plain_folder(real_cache) else private.cache
    areas = {cache: private.cache}
    shared = (("/tmp", private.temporary), ("/var/tmp", private.other_temporary))  # noqa: S108 - they become private
    areas |= {path: source for path, source in shared if is_plain_folder(path)}
    mounts = [
        Mount(path, "read-only")
        for path in (home, sys.prefix, *_programs(project, set(areas)))
        if any(within(path, area) and path != area for area in areas)
    ]
    mounts += (Mount(path, "writable", source, "private") for path, source in areas.items())
    for name in _SHARED_CACHES:
        source = os.path.realpath(f"{real_cache}/{name}")
        if is_plain_folder(source):
            mounts.append(Mount(f"{cache}/{name}", "read-only", source))
    store = _store(project.root, home, cache)
    if store:
        make_mount_point(private.cache, "pnpm-store", folder=True)
        mounts.append(Mount(store, "writable", f"{private.cache}/pnpm-store", "private"))
    for path in filter(lexists, project.writable):
        mounts.append(Mount(path, "writable", origin="user"))
        mounts += (Mount(folder, "read-only") for folder in _path_folders() if within(folder, path))
    mounts.append(Mount(project.root, "writable", origin="project"))
    fixed, unprotected = _fixed(project)
    mounts += (*fixed, *_covered(project))
    return View(tuple(mounts), cache, store, unprotected)


def homes() -> list[str]:
    """Return the home folders of the environment and of the account."""
    names = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        names.append(pwd.getpwuid(os.getuid()).pw_dir)
    return real_paths(home for home in names if home.startswith("/") and is_folder(home))


def real_paths(paths: Iterable[str | Path]) -> list[str]:
    """Return the real paths of `paths`, each once."""
    return list(dict.fromkeys(os.path.realpath(path) for path in paths))


def places_to_hide(paths: Iterable[str | Path]) -> list[str]:
    """Return the real paths that hide `paths`, leaving out those that nobody can reach.

    For one in a folder that this account may not search, it is that folder: a process could open
    the folder again.
    """
    places = (_place_to_hide(real) for real in real_paths(paths))
    return list(dict.fromkeys(place for place in places if place))


def _place_to_hide(path: str) -> str:
    try:
        # A real path that is a link is a loop.
        return "" if stat.S_ISLNK(os.lstat(path).st_mode) else path
    except PermissionError:
        above = next(str(folder) for folder in Path(path).parents if lexists(folder))
        return "" if os.access(above, os.X_OK, effective_ids=True) else above
    except OSError:
        return ""


def _store(root: str, home: str, cache: str) -> str:
    """Return pnpm's store in the home folder, or "" if processes need no private one there.

    With its store at another path, pnpm would reinstall everything, in the sandbox and then
    outside.
    """
    store = pnpm_store(os.environ, home)
    if not is_plain_folder(store) or os.path.realpath(store) != store:
        return ""
    inside = any(within(store, area) for area in (cache, root))
    return store if within(store, home) and not inside else ""


def _fixed(project: Project) -> tuple[list[Mount], str]:
    """Return the read-only mounts in the project and in other writable folders, and what they do
    not protect.
    """
    elsewhere = (
        path for path in real_paths((*project.protected, *_own_code(project.root))) if lexists(path)
    )
    mounts = [Mount(path, "read-only") for path in elsewhere if not within(project.root, path)]
    repositories = [f"{folder}/.git" for folder in project.repositories()]
    with ProjectTree(Path(project.root)) as tree:
        plain = [part for name in repositories if (part := _plain_part(tree, name))]
        protected = _first_few(plain[:_MOST_REPOSITORIES], _MOUNTS_OF_REPOSITORIES)
        rules = [part for name in project.read_only() if (part := _plain_part(tree, name))]
    names = (*protected, *_first_few(rules, _MOUNTS_OF_RULES))
    mounts += (Mount(f"{project.root}/{name}", "read-only", origin="project") for name in names)
    if len(protected) == len(plain):
        return mounts, ""
    return mounts, f"only {len(protected)} of {len(plain)} nested git repositories are protected"


def _first_few(names: Sequence[str], most: int) -> list[str]:
    """Return the `names`, the shortest paths first, that need no more than `most` mounts together."""
    places: set[str] = set()
    few: list[str] = []
    for name in sorted(names, key=lambda name: name.count("/")):
        places.add(name)
        places.update(map(str, Path(name).parents[:-1]))
        if len(places) > most:
            break
        few.append(name)
    return few


def _plain_part(tree: ProjectTree, name: str) -> str:
    """Return `name` if it is a file or folder of the project without a link on the way, else "".

    If this account may not search a folder on the way, return that folder.
    """
    try:
        status = tree.lstat(name)
    except PermissionError:
        return _plain_part(tree, name.rpartition("/")[0]) if "/" in name else ""
    except OSError:
        return ""
    plain = status is not None and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))
    return name if plain else ""


def _covered(project: Project) -> Iterator[Mount]:
    """Yield hidden paths, and those that the user opens nevertheless, without the sockets in them."""
    for path in project.hidden_paths():
        yield Mount(path, "hidden")
    for path in filter(lexists, project.readable):
        yield Mount(path, "read-only", origin="user")
    stores = {*places_to_hide(credential_stores(homes()))} if project.writable else set()
    for shown in (*project.readable, *(path for path in project.writable if path in stores)):
        for path, status in files_below(shown):
            if stat.S_ISSOCK(status.st_mode):
                yield Mount(path, "hidden")


def _path_folders() -> list[str]:
    return list(
        filter(
            is_folder, real_paths(folder for folder in os.get_exec_path() if folder.startswith("/"))
        )
    )


def _programs(project: Project, areas: Collection[str]) -> Iterator[str]:
    """Yield the folders of PATH outside of the project; for `…/bin`, yield the parent, which has
    its libraries.

    A folder to which a link in the project leads is left out: whoever wrote the link would choose
    what is seen.
    """
    root = project.root
    trusted = trusted_path(Path(root), writable=project.writable).split(os.pathsep)
    for real in filter(is_folder, real_paths(filter(os.path.isabs, trusted))):
        if not within(root, real):
            above, name = os.path.split(real)
            yield (
                above
                if name in {"bin", "sbin"} and above not in areas and not within(root, above)
                else real
            )


def _own_code(root: str) -> Iterator[str]:
    """Yield the real paths of this interpreter, of the folders that it imports from, and of our
    packages.

    A process that could change them would run its own code outside of the sandbox. What is outside
    of the project, but behind a link in it, is left out: whoever wrote the link would choose what
    is seen.
    """
    # Deno may be among the programs of an installation for one user.
    folders = {
        f"{site.getuserbase()}/bin",
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        *filter(os.path.isabs, sys.path),
    }
    ours = [
        sys.modules.get(name)
        for name in tuple(sys.modules)
        if name.startswith("code_commit") and "." not in name
    ]
    folders |= {
        str(Path(file).parent) for module in ours if (file := getattr(module, "__file__", None))
    }
    ends = {os.path.realpath(folder): folder for folder in folders}
    yield from sorted(
        real
        for real, path in ends.items()
        if within(real, root) or not leads_through(path, (root,))
    )
