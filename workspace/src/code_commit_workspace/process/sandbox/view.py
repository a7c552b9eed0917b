"""Collect what the processes of a sandbox see, as mounts over a read-only view of the machine.

A path of the project is only taken as it is: what is behind a link is never mounted, because
whoever wrote the link would choose what is seen.
"""

from __future__ import annotations

import os
import pwd
import site
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
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
        opened = (*self.writable, *self.readable)

        def unless_opened(paths: Iterable[str]) -> list[str]:
            return [path for path in places_to_hide(paths) if path not in opened]

        hidden = places_to_hide((*self.hidden, *service_sockets(os.environ)))
        hidden += unless_opened(credential_stores(homes()))
        table = read_mount_table()
        elsewhere = (*second_places(hidden, table), *views_of_processes(table))
        return hidden + unless_opened(elsewhere)


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
        for path in (home, sys.prefix, *_programs(project, areas))
        if any(within(path, area) and path != area for area in areas)
    ]
    mounts += (Mount(path, "writable", source, "private") for path, source in areas.items())
    mounts += _downloads(real_cache, cache)
    store = _store(project.root, home, cache)
    if store:
        make_mount_point(private.cache, "pnpm-store", folder=True)
        mounts.append(Mount(store, "writable", f"{private.cache}/pnpm-store", "private"))
    for path in filter(lexists, project.writable):
        mounts.append(Mount(path, "writable", origin="user"))
        mounts += (Mount(folder, "read-only") for folder in _path_folders() if within(folder, path))
    mounts.append(Mount(project.root, "writable", origin="project"))
    fixed, unprotected = _fixed(project)
    mounts += fixed
    mounts += _covers(project)
    return View(tuple(mounts), cache, store, unprotected)


def _downloads(real_cache: str, cache: str) -> Iterator[Mount]:
    """Yield the mounts that show large downloads of the user's cache in the one at `cache`."""
    for name in _SHARED_CACHES:
        source = os.path.realpath(f"{real_cache}/{name}")
        if is_plain_folder(source):
            yield Mount(f"{cache}/{name}", "read-only", source)


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
    """Return the place that hides the real path `path`, or "" if nobody can reach it."""
    try:
        mode = os.lstat(path).st_mode
    except PermissionError:
        above = next(str(folder) for folder in Path(path).parents if lexists(folder))
        return "" if os.access(above, os.X_OK, effective_ids=True) else above
    except OSError:
        return ""
    return "" if stat.S_ISLNK(mode) else path  # a real path that is a link is a loop


def _store(root: str, home: str, cache: str) -> str:
    """Return pnpm's store in the home folder, or "" if processes need no private one there.

    With its store at another path, pnpm would reinstall everything, in the sandbox and then
    outside.
    """
    store = pnpm_store(os.environ, home)
    if not is_plain_folder(store) or os.path.realpath(store) != store:
        return ""
    if within(store, cache) or within(store, root):
        return ""  # it is writable there
    return store if within(store, home) else ""


def _fixed(project: Project) -> tuple[list[Mount], str]:
    """Return the read-only mounts in writable folders, and what they do not protect."""
    elsewhere = filter(lexists, real_paths((*project.protected, *_own_code(project.root))))
    mounts = [Mount(path, "read-only") for path in elsewhere if not within(project.root, path)]
    git_folders = (f"{folder}/.git" for folder in project.repositories())
    with ProjectTree(Path(project.root)) as tree:
        repositories = _plain_parts(tree, git_folders)
        rules = _plain_parts(tree, project.read_only())
    protected = _first_few(repositories[:_MOST_REPOSITORIES], _MOUNTS_OF_REPOSITORIES)
    names = (*protected, *_first_few(rules, _MOUNTS_OF_RULES))
    mounts += (Mount(f"{project.root}/{name}", "read-only", origin="project") for name in names)
    unprotected = ""
    if len(protected) < len(repositories):
        figures = f"{len(protected)} of {len(repositories)}"
        unprotected = f"only {figures} nested git repositories are protected"
    return mounts, unprotected


def _first_few(names: Sequence[str], most: int) -> list[str]:
    """Return the `names` that need at most `most` mounts together, the shortest paths first."""
    places: set[str] = set()
    few: list[str] = []
    for name in sorted(names, key=lambda name: name.count("/")):
        places.add(name)
        places.update(map(str, Path(name).parents[:-1]))
        if len(places) > most:
            break
        few.append(name)
    return few


def _plain_parts(tree: ProjectTree, names: Iterable[str]) -> list[str]:
    """Return what `_plain_part` returns for each name, without empty ones."""
    return [part for part in (_plain_part(tree, name) for name in names) if part]


def _plain_part(tree: ProjectTree, name: str) -> str:
    """Return `name` if it is a file or folder of the project without a link on the way, else "".

    If this account may not search a folder on the way, return that folder.
    """
    try:
        status = tree.lstat(name)
    except PermissionError:
        above = name.rpartition("/")[0]
        return _plain_part(tree, above) if above else ""
    except OSError:
        return ""
    if status is None:
        return ""
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return name if is_plain else ""


def _covers(project: Project) -> Iterator[Mount]:
    """Yield mounts of hidden paths, and of those that the user opens nevertheless.

    In the latter, the sockets stay hidden.
    """
    for path in project.hidden_paths():
        yield Mount(path, "hidden")
    for path in filter(lexists, project.readable):
        yield Mount(path, "read-only", origin="user")
    opened = [*project.readable]
    if project.writable:
        stores = set(places_to_hide(credential_stores(homes())))
        opened += (path for path in project.writable if path in stores)
    for folder in opened:
        for path, status in files_below(folder):
            if stat.S_ISSOCK(status.st_mode):
                yield Mount(path, "hidden")


def _path_folders() -> list[str]:
    """Return the real paths of the folders of PATH."""
    absolute = (folder for folder in os.get_exec_path() if folder.startswith("/"))
    return [folder for folder in real_paths(absolute) if is_folder(folder)]


def _programs(project: Project, areas: Container[str]) -> Iterator[str]:
    """Yield the folders of PATH outside of the project; for `…/bin`, yield its parent.

    The parent has the libraries of the programs. It is not one of `areas`, which are private.

    A folder to which a link in the project leads is left out: whoever wrote the link would choose
    what is seen.
    """
    root = project.root
    trusted = trusted_path(Path(root), writable=project.writable).split(os.pathsep)
    for folder in filter(is_folder, real_paths(filter(os.path.isabs, trusted))):
        if within(root, folder):
            continue
        above, name = os.path.split(folder)
        if name in {"bin", "sbin"} and above not in areas and not within(root, above):
            yield above
        else:
            yield folder


def _own_code(root: str) -> Iterator[str]:
    """Yield the real paths of this interpreter, of what it imports from, and of our packages.

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
    for name, module in sys.modules.copy().items():
        if name.startswith("code_commit") and "." not in name:
            file = getattr(module, "__file__", None)
            if file:
                folders.add(str(Path(file).parent))
    by_real_path = {os.path.realpath(folder): folder for folder in folders}
    for real, folder in sorted(by_real_path.items()):
        if within(real, root) or not leads_through(folder, (root,)):
            yield real
