"""The sandbox: bubblewrap, with a view of the machine in which only the project and private folders are writable.

Keys are hidden, and files that check the next response are read-only. A process has its own process table, so that it
sees no other process and no child survives it, its own terminals, its own shared memory, and no access to services that
could start programs outside.
"""

from __future__ import annotations

import os
import pwd
import site
import stat
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.process.caches import cache_variables, link_configurations, pnpm_store
from code_commit_workspace.process.hard_links import files_below
from code_commit_workspace.process.hidden import SERVICE_VARIABLES, credential_stores, service_sockets
from code_commit_workspace.process.launch import Process
from code_commit_workspace.process.mounts import Mount, arrange
from code_commit_workspace.process.old_caches import remove_old_caches
from code_commit_workspace.process.opened import fault_of_opening
from code_commit_workspace.process.private_folders import PrivateFolders, home_folder, make_mount_point, private_place
from code_commit_workspace.process.read_only import read_only_advice
from code_commit_workspace.programs import find_program, within

_SECONDS_TO_PROVE = 20
_LONGEST_MESSAGE = 4096  # bytes
_MOST_REPOSITORIES = 32  # each one takes time at every start
# Devices for graphics and virtual machines, besides the usual ones; no disks, and no terminals of other processes.
_DEVICES = ("kvm", "dri", "kfd")
# Folders of /proc through which root could change the kernel even without any capability.
_KERNEL = ("acpi", "bus", "dynamic_debug", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
# Root needs these to work on files of another user.
_OWNER_CAPABILITIES = ("CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_CHOWN")
# Large caches that users download on purpose; they appear read-only in the private cache.
_SHARED_CACHES = ("ms-playwright", "puppeteer", "Cypress", "huggingface")
_TEMPORARY = ("TMPDIR", "TEMPDIR", "TMP", "TEMP")


class Sandbox:
    """The sandbox of the processes of one run in the project at `root`.

    Args:
        root: the project, which may be or contain a link.
        network: whether processes reach the network.
        hidden: files and folders that no process may see.
        read_only: returns files and folders that no process may change.
        repositories: returns folders of nested git repositories; no process may change their `.git`.
        writable, readable: files and folders that the user opens, besides the project.

    Paths that do not exist are left out.
    """

    def __init__(
        self,
        root: Path,
        *,
        network: bool,
        hidden: Iterable[Path] = (),
        read_only: Callable[[], Iterable[Path]] = tuple,
        repositories: Callable[[], Sequence[Path]] = tuple,
        writable: Iterable[Path] = (),
        readable: Iterable[Path] = (),
    ) -> None:
        self._root = os.path.realpath(root)
        self._network = network
        self._hidden = tuple(hidden)
        self._read_only = read_only
        self._repositories = repositories
        self._writable = _real(map(os.path.expanduser, writable))
        self._readable = _real(map(os.path.expanduser, readable))
        self._lock = threading.Lock()
        self._folders: PrivateFolders | None = None
        self._cache = ""
        self._store = ""
        self._command: list[str] = []
        self._mounted: dict[str, Mount] = {}
        self._reason: str | None = None
        self.unprotected = ""

    def check(self) -> None:
        """Check that a sandbox can protect anything at all.

        Raises:
            NotReady: the project is or holds a home folder, or is in a hidden folder; or the user opened a folder that
                contains hidden files.
        """
        homes = _homes()
        for folder in ("/", *homes):
            if within(folder, self._root):
                what = "is the root of the file system" if folder == "/" else f"is or holds the home folder {folder}"
                raise NotReady(
                    f"the project {self._root} {what}: the sandbox cannot protect it",
                    hint="work in a subfolder, or pass --sandbox off",
                )
        for path in self._hidden_paths():
            if within(self._root, path):
                raise NotReady(
                    f"the project {self._root} is in {path}, which builds cannot see or change",
                    hint="use a folder or file in the project instead of a link to a folder above it",
                )
        self._check_opened(homes)

    def _check_opened(self, homes: Sequence[str]) -> None:
        hidden = _real(self._hidden)
        for opened in (*self._writable, *self._readable):
            if any(within(opened, path) for path in hidden):
                fault = "is in a folder that processes must not see"
            elif Path(opened).is_socket():
                fault = "is a socket: what listens there acts outside of the sandbox"
            else:
                continue
            raise NotReady(f"{opened}, which [sandbox] opens, {fault}", hint="remove it from your configuration")
        for opened in self._writable:
            if found := self._fault_of_opening(opened, homes):
                raise NotReady(f"sandbox.writable: {opened} {found[0]}", hint=found[1])

    def _fault_of_opening(self, opened: str, homes: Sequence[str]) -> tuple[str, str] | None:
        hidden = [str(path) for path in self._hidden]
        return fault_of_opening(opened, homes=homes, hidden=hidden, private=str(private_place(self._root, os.environ)))

    def why_not(self) -> str:
        """Return why the sandbox does not work here, or "". The first call tries it.

        After that, `unprotected` describes what it leaves open.

        Raises:
            NotReady: no sandbox can hold this project.
        """
        with self._lock:
            if self._reason is None:
                self.check()
                try:
                    self._reason = self._prove()
                except NotReady as error:
                    self._reason = f"{error.message} ({error.hint})" if error.hint else error.message
                except OSError as error:
                    self._reason = f"it cannot be set up: {error}"
        return self._reason

    def wrapper(self) -> list[str]:
        """Return the command that runs the arguments after `--` in the sandbox. Call `why_not` first."""
        return self._command

    def may_hide(self, path: str) -> bool:
        """Return whether processes may not see an absolute path. Unlike `place_hiding`, this tries nothing."""
        areas = ("/tmp", "/var/tmp", *(f"{home}/.cache" for home in _homes()))  # noqa: S108 - they become private
        for way in _ways(path):
            in_area = any(within(way, area) for area in areas) and not within(way, self._root)
            if in_area or any(within(way, hidden) for hidden in self._hidden_paths()):
                return True
        return False

    def place_hiding(self, path: str) -> str:
        """Return the mount that hides the file `path`, or an empty text. Call `why_not` first."""
        for way in _ways(path):
            mount = next((found for folder in _above(way) if (found := self._mounted.get(folder))), None)
            shown = mount.below(way) if mount else way
            if mount and (shown is None or not os.path.exists(shown)):  # noqa: PTH110 - a text
                return mount.path
        return ""

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return `env` for a process in the sandbox."""
        inside = {name: value for name, value in env.items() if name not in SERVICE_VARIABLES}
        for name in _TEMPORARY:
            if not within(os.path.realpath(inside.get(name) or "/"), self._root):
                inside.pop(name, None)
        return inside | cache_variables(inside, self._cache, self._store)

    def advice(self, output: str) -> str:
        """See `read_only_advice`."""
        homes = [home_folder(os.environ), *_homes()]
        stores = tuple(credential_stores(homes))

        def may_open(folder: str) -> bool:
            inside = any(within(folder, store) for store in stores)
            return not inside and self._fault_of_opening(os.path.realpath(folder), homes) is None

        writable = ("/tmp", "/var/tmp", self._cache, *self._writable)  # noqa: S108 - they are private
        return read_only_advice(output, project=self._root, homes=homes, writable=writable, may_open=may_open)

    def close(self) -> None:
        """Remove the temporary folders."""
        if self._folders is not None:
            self._folders.close()

    def _prove(self) -> str:
        """Prepare the command, try it, and return why it does not work, or "". Root may need a user namespace."""
        if sys.platform != "linux":
            return "bubblewrap needs Linux"
        bubblewrap = find_program("bwrap", Path(self._root), self._writable)
        if bubblewrap is None:
            return "bubblewrap (bwrap) is not installed"
        self._folders = PrivateFolders(self._root, os.environ)
        remove_old_caches(private_place(self._root, os.environ))
        self._mounted = {mount.path: mount for mount in self._mounts(self._folders)}
        mounts = arrange(self._mounted.values(), empty=self._folders.empty)
        link_configurations(self._folders.cache, home_folder(os.environ))
        reason = ""
        for namespace in ((), ("--unshare-user",)) if os.geteuid() == 0 else ((),):
            options = [*_isolation(self._root, network=self._network), *namespace, *mounts]
            self._command = [bubblewrap, *options, "--die-with-parent", "--chdir", self._root]
            if not (failed := _failure(self._command)):
                return ""
            reason = reason or failed
        return reason

    def _mounts(self, private: PrivateFolders) -> Iterator[Mount]:
        """Yield what differs from a read-only view of the machine; the last mount of a path counts."""
        home = home_folder(os.environ)
        real_cache = f"{home.rstrip('/')}/.cache"
        self._cache = real_cache if _is_plain_folder(real_cache) else private.cache
        areas = {self._cache: private.cache}
        shared = (("/tmp", private.temporary), ("/var/tmp", private.other_temporary))  # noqa: S108 - they become private
        areas |= {path: source for path, source in shared if _is_plain_folder(path)}
        for path in (home, sys.prefix, *_programs(self._root, set(areas))):
            if any(within(path, area) and path != area for area in areas):
                yield Mount(path, "read-only")
        for path, source in areas.items():
            yield Mount(path, "writable", source)
        for name in _SHARED_CACHES:
            source = os.path.realpath(f"{real_cache}/{name}")
            if _is_plain_folder(source):
                yield Mount(f"{self._cache}/{name}", "read-only", source)
        store = pnpm_store(os.environ, home)
        plain = _is_plain_folder(store) and os.path.realpath(store) == store
        if plain and within(store, home) and not any(within(store, area) for area in (self._cache, self._root)):
            # With its store at another path, pnpm would reinstall everything, in the sandbox and then outside.
            make_mount_point(private.cache, "pnpm-store", folder=True)
            yield Mount(store, "writable", f"{private.cache}/pnpm-store")
            self._store = store
        for path in filter(os.path.lexists, self._writable):
            yield Mount(path, "writable")
            yield from (Mount(folder, "read-only") for folder in _path_folders() if within(folder, path))
        yield Mount(self._root, "writable")
        yield from self._fixed()
        yield from self._covered()

    def _fixed(self) -> Iterator[Mount]:
        """Yield the read-only mounts in the project and in other writable folders."""
        found = [path / ".git" for path in self._repositories()]
        if len(found) > _MOST_REPOSITORIES:
            self.unprotected = f"only {_MOST_REPOSITORIES} of {len(found)} nested git repositories are protected"
        for path in _real((*self._read_only(), *found[:_MOST_REPOSITORIES], *_own_code())):
            if os.path.lexists(path) and not within(self._root, path):
                yield Mount(path, "read-only")

    def _covered(self) -> Iterator[Mount]:
        """Yield hidden paths, and those that the user opens nevertheless, without the sockets in them."""
        for path in self._hidden_paths():
            yield Mount(path, "hidden")
        for path in filter(os.path.lexists, self._readable):
            yield Mount(path, "read-only")
        stores = {*_existing(credential_stores(_homes()))} if self._writable else set()
        for shown in (*self._readable, *(path for path in self._writable if path in stores)):
            for path, status in files_below(shown):
                if stat.S_ISSOCK(status.st_mode):
                    yield Mount(path, "hidden")

    def _hidden_paths(self) -> list[str]:
        """Return the existing real paths that no process may see."""
        shown = (*self._writable, *self._readable)
        stores = (path for path in _existing(credential_stores(_homes())) if path not in shown)
        return [*_existing((*self._hidden, *service_sockets(os.environ))), *stores]


def _isolation(root: str, *, network: bool) -> list[str]:
    """Return the options of bubblewrap before the mounts."""
    options = ["--unshare-pid", "--unshare-ipc", "--new-session", "--cap-drop", "ALL"]
    if not network:
        options.append("--unshare-net")
    if os.geteuid() == 0 and Path(root).stat().st_uid != 0:
        for capability in _OWNER_CAPABILITIES:
            options += ("--cap-add", capability)
    options += ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if Path("/dev/mqueue").is_dir():
        options += ("--mqueue", "/dev/mqueue")
    graphics = (entry.name for entry in os.scandir("/dev") if entry.name.startswith("nvidia"))
    for device in (*_DEVICES, *sorted(graphics)):
        if Path("/dev", device).exists():
            options += ("--dev-bind", f"/dev/{device}", f"/dev/{device}")
    for name in _KERNEL if os.geteuid() == 0 else ("sys",):
        if Path("/proc", name).exists():
            options += ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    return options


def _failure(command: Sequence[str]) -> str:
    """Try the command, under the supervisor: bubblewrap leaves a process behind if it is killed as it starts."""
    try:
        process = Process([command[0], "--version"], wrapper=command, cwd=Path("/"), env=os.environ, stdin=b"")
        with process:
            if process.wait(_SECONDS_TO_PROVE) == 0:
                return ""
            message = os.read(process.stderr, _LONGEST_MESSAGE).decode("utf-8", "replace").strip()
    except TimeoutError:
        return f"bubblewrap does not end within {_SECONDS_TO_PROVE} seconds"
    except OSError as error:
        return f"bubblewrap does not run: {error}"
    return f"bubblewrap does not work: {message or process.trouble}"


def _homes() -> list[str]:
    """Return the home folders of the environment and of the account."""
    homes = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return _real(home for home in homes if home.startswith("/") and Path(home).is_dir())


def _real(paths: Iterable[str | Path]) -> list[str]:
    return list(dict.fromkeys(os.path.realpath(path) for path in paths))


def _existing(paths: Iterable[str | Path]) -> list[str]:
    """Return the real paths of those `paths` that exist, also behind links."""
    return [path for path in _real(filter(os.path.lexists, paths)) if os.path.lexists(path)]


def _ways(path: str) -> list[str]:
    """Return a path as it is written and as it is without links: a process needs both."""
    return list(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))  # noqa: PTH100 - it may be a link


def _above(path: str) -> list[str]:
    """Return `path` and the folders above it, from the deepest."""
    return [path, *map(str, Path(path).parents)]


def _is_plain_folder(path: str) -> bool:
    return Path(path).is_dir() and not Path(path).is_symlink()


def _path_folders() -> list[str]:
    found = _real(folder for folder in os.get_exec_path() if folder.startswith("/"))
    return [folder for folder in found if Path(folder).is_dir()]


def _programs(root: str, areas: Collection[str]) -> Iterator[str]:
    """Yield the folders of PATH outside of the project; for `…/bin`, yield the parent, which has its libraries."""
    for real in _path_folders():
        if not within(root, real) and not within(real, root):
            above, name = os.path.split(real)
            yield above if name in {"bin", "sbin"} and above not in areas and not within(root, above) else real


def _own_code() -> Iterator[str]:
    """Yield the real paths of this interpreter, of the folders that it imports from, and of our packages.

    A process that could change them would run its own code outside of the sandbox.
    """
    # Deno may be among the programs of an installation for one user.
    folders = {
        f"{site.getuserbase()}/bin",
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        *filter(os.path.isabs, sys.path),
    }
    ours = [sys.modules.get(name) for name in tuple(sys.modules) if name.startswith("code_commit") and "." not in name]
    folders |= {str(Path(file).parent) for module in ours if (file := getattr(module, "__file__", None))}
    yield from sorted({os.path.realpath(folder) for folder in folders})
