"""The sandbox: bubblewrap, with a view of the machine that is mostly read-only.

Only the project and private folders are writable. Keys are hidden, and files that check the next
response are read-only. A process has its own process table, so that it sees no other process and no
child survives it. It has its own terminals, its own shared memory, and no access to services that
could start programs outside.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import exists, is_socket
from code_commit_workspace.files.path_text import within
from code_commit_workspace.files.programs import find_program
from code_commit_workspace.process.sandbox import bubblewrap
from code_commit_workspace.process.sandbox.caches import cache_variables, link_configurations
from code_commit_workspace.process.sandbox.hidden import SERVICE_VARIABLES, credential_stores
from code_commit_workspace.process.sandbox.mounts import Mount, arrange
from code_commit_workspace.process.sandbox.old_caches import remove_old_caches
from code_commit_workspace.process.sandbox.opened import fault_of_opening
from code_commit_workspace.process.sandbox.private_folders import (
    PrivateFolders,
    home_folder,
    private_place,
)
from code_commit_workspace.process.sandbox.read_only import read_only_advice
from code_commit_workspace.process.sandbox.view import Project, homes, real_paths, view_of
from code_commit_workspace.process.seccomp import why_unfiltered

_TEMPORARY = ("TMPDIR", "TEMPDIR", "TMP", "TEMP")


class Sandbox:
    """The sandbox of the processes of one run in the project at `root`.

    Args:
        root: the project, which may be or contain a link.
        network: whether processes reach the network.
        hidden: files and folders that no process may see.
        read_only: returns the names of files and folders in the project that no process may change.
        protected: other paths that no process may change.
        repositories: returns the names of folders of nested git repositories; no process may change
            their `.git`.
        writable, readable: files and folders that the user opens, besides the project.

    Paths that do not exist are left out.
    """

    def __init__(
        self,
        root: Path,
        *,
        network: bool,
        hidden: Iterable[Path] = (),
        read_only: Callable[[], Iterable[str]] = tuple,
        protected: Iterable[Path] = (),
        repositories: Callable[[], Iterable[str]] = tuple,
        writable: Iterable[Path] = (),
        readable: Iterable[Path] = (),
    ) -> None:
        self._root = os.path.realpath(root)
        self._network = network
        self._project = Project(
            self._root,
            hidden=tuple(hidden),
            protected=tuple(protected),
            read_only=read_only,
            repositories=repositories,
            writable=tuple(real_paths(map(os.path.expanduser, writable))),
            readable=tuple(real_paths(map(os.path.expanduser, readable))),
        )
        self._lock = threading.Lock()
        self._folders: PrivateFolders | None = None
        self._cache = ""
        self._store = ""
        self._command: list[str] = []
        self._mounted: Mapping[str, Mount] = {}
        self._answer: str | NotReady | None = None
        self.unprotected = ""

    def check(self) -> None:
        """Check that a sandbox can protect anything at all.

        Raises:
            NotReady: the project is or holds a home folder, or is in a hidden folder; or the user
                opened a folder that contains hidden files.
        """
        for folder in ("/", *homes()):
            if within(folder, self._root):
                fault = f"is or holds the home folder {folder}"
                if folder == "/":
                    fault = "is the root of the file system"
                raise NotReady(
                    f"the project {self._root} {fault}: the sandbox cannot protect it",
                    hint="work in a subfolder, or pass --sandbox off",
                )
        for path in self._project.hidden_paths():
            if within(self._root, path):
                raise NotReady(
                    f"the project {self._root} is in {path}, which builds cannot see or change",
                    hint="use a folder or file in the project instead of a link to a folder "
                    "above it",
                )
        self._check_opened()

    def _check_opened(self) -> None:
        """Check what the user opens.

        Raises:
            NotReady: a process could see what is hidden, or act outside of the sandbox.
        """
        hidden = real_paths(self._project.hidden)
        for opened in (*self._project.writable, *self._project.readable):
            if any(within(opened, path) for path in hidden):
                fault = "is in a folder that processes must not see"
            elif is_socket(opened):
                fault = "is a socket: what listens there acts outside of the sandbox"
            else:
                continue
            raise NotReady(
                f"{opened}, which [sandbox] opens, {fault}",
                hint="remove it from your configuration",
            )
        for opened in self._project.writable:
            refusal = self._fault_of_opening(opened, homes())
            if refusal is not None:
                fault, hint = refusal
                raise NotReady(f"sandbox.writable: {opened} {fault}", hint=hint)

    def _fault_of_opening(self, opened: str, home_folders: Sequence[str]) -> tuple[str, str] | None:
        return fault_of_opening(
            opened,
            homes=home_folders,
            hidden=[str(path) for path in self._project.hidden],
            private=str(private_place(self._root, os.environ)),
        )

    def why_not(self) -> str:
        """Return why the sandbox does not work on this machine, or "". The first call tries it.

        After that, `unprotected` describes what it leaves open.

        Raises:
            NotReady: it works on this machine, but cannot hold this project.
        """
        with self._lock:
            if self._answer is None:
                self.check()
                try:
                    self._answer = self._prove()
                except NotReady as error:
                    self._answer = error
        if isinstance(self._answer, NotReady):
            raise NotReady(self._answer.message, hint=self._answer.hint)
        return self._answer

    def wrapper(self) -> list[str]:
        """Return the command that runs the arguments after `--` in the sandbox.

        Call `why_not` first.
        """
        return self._command

    def may_hide(self, path: str) -> bool:
        """Return whether processes may not see an absolute path.

        Unlike `place_hiding`, this tries nothing.
        """
        areas = ("/tmp", "/var/tmp", *(f"{home}/.cache" for home in homes()))  # noqa: S108 - they become private
        for spelling in _spellings(path):
            in_area = any(within(spelling, area) for area in areas)
            if in_area and not within(spelling, self._root):
                return True
            if any(within(spelling, hidden) for hidden in self._project.hidden_paths()):
                return True
        return False

    def place_hiding(self, path: str) -> str:
        """Return the mount that hides the file `path`, or an empty text. Call `why_not` first."""
        for spelling in _spellings(path):
            mount = self._mount_of(spelling)
            if mount is None:
                continue
            shown = mount.below(spelling)
            if not shown or not exists(shown):
                return mount.path
        return ""

    def _mount_of(self, path: str) -> Mount | None:
        """Return the mount in which `path` is, if any."""
        for place in (path, *map(str, Path(path).parents)):
            if place in self._mounted:
                return self._mounted[place]
        return None

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return `env` for a process in the sandbox."""
        inside = {name: value for name, value in env.items() if name not in SERVICE_VARIABLES}
        for name in _TEMPORARY:
            if not within(os.path.realpath(inside.get(name) or "/"), self._root):
                inside.pop(name, None)
        return inside | cache_variables(inside, self._cache, self._store)

    def advice(self, output: str) -> str:
        """See `read_only_advice`."""
        home_folders = [home_folder(os.environ), *homes()]
        stores = tuple(credential_stores(home_folders))

        def may_open(folder: str) -> bool:
            if any(within(folder, store) for store in stores):
                return False
            return self._fault_of_opening(os.path.realpath(folder), home_folders) is None

        return read_only_advice(
            output,
            project=self._root,
            homes=home_folders,
            writable=("/tmp", "/var/tmp", self._cache, *self._project.writable),  # noqa: S108 - they are private
            may_open=may_open,
        )

    def close(self) -> None:
        """Remove the temporary folders."""
        if self._folders is not None:
            self._folders.close()

    def _prove(self) -> str:
        """Prepare the command, try it, and return why it does not work on this machine, or "".

        If it fails, bubblewrap without the mounts shows whether the machine is the reason: a
        project must not be able to switch the sandbox off.

        Raises:
            NotReady: it works on this machine, but cannot hold this project.
        """
        if sys.platform != "linux":
            return "bubblewrap needs Linux"
        program = find_program("bwrap", Path(self._root), self._project.writable)
        if program is None:
            return "bubblewrap (bwrap) is not installed"
        owner = os.stat(self._root).st_uid  # noqa: PTH116 - a text
        isolation = [program, *bubblewrap.isolation(network=self._network, owner=owner)]
        bases = [isolation]
        if os.geteuid() == 0:
            bases.append([*isolation, "--unshare-user"])  # root may need a user namespace
        fault = self._try(bases)
        if fault is None:
            return ""
        reasons = [bubblewrap.failure([*basis, "--die-with-parent"]) for basis in bases]
        if all(reasons):
            return reasons[0]
        raise fault

    def _try(self, bases: Iterable[list[str]]) -> NotReady | None:
        """Set the command to the first of `bases` that works with the mounts.

        Return why none does, or None.
        """
        try:
            mounts = self._mounts()
        except NotReady as error:
            return self._refusal(error.message, error.hint)
        except OSError as error:
            return self._refusal(f"{error.filename}: {error.strerror}", "fix this")
        failures = []
        for basis in bases:
            self._command = [*basis, *mounts, "--die-with-parent", "--chdir", self._root]
            failure = bubblewrap.failure(self._command)
            if not failure:
                return None
            failures.append(failure)
        return self._refusal(failures[0], "remove what is in the way")

    def _refusal(self, reason: str, hint: str) -> NotReady:
        return NotReady(
            f"no sandbox for {self._root}: {reason}", hint=f"{hint}, or pass --sandbox off"
        )

    def _mounts(self) -> list[str]:
        """Create the private folders; return the mounts as arguments of bubblewrap."""
        self._folders = PrivateFolders(self._root, os.environ)
        private = private_place(self._root, os.environ)
        remove_old_caches(private)
        view = view_of(self._project, self._folders)
        self._cache, self._store = view.cache, view.store
        self.unprotected = view.unprotected or why_unfiltered()
        arrangement = arrange(
            view.mounts, root=self._root, private=str(private), empty=self._folders.empty
        )
        self._mounted = arrangement.mounts
        link_configurations(self._folders.cache, home_folder(os.environ))
        return arrangement.arguments


def _spellings(path: str) -> list[str]:
    """Return a path as it is written and as it is without links: a process needs both."""
    written = os.path.abspath(path)  # noqa: PTH100 - it may be a link
    real = os.path.realpath(path)
    return [written] if real == written else [written, real]
