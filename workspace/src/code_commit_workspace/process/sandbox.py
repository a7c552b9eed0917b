"""The sandbox: bubblewrap, set up so that a build sees its usual machine, except what it must not touch.

Keys are hidden, and what decides about the next response is read-only. The process has its own process table, so that
it sees no other process and none survives it, its own terminals, and no access to services that could run something
outside.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.programs import find_program, within

_SECONDS_TO_PROVE = 20
# Devices that builds use, besides those of every sandbox. No disks, and no terminals of others.
_DEVICES = ("shm", "mqueue", "hugepages", "kvm", "fuse", "net", "dri", "kfd", "snd")
# Through these sockets, systemd can be told to start a process outside the sandbox.
_STARTERS = (
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/run/user/{user}/systemd/private",
    "/run/user/{user}/bus",
)
# With these, root could undo the mounts, reach files past them, or change the kernel. Other users have none.
_TOO_POWERFUL = ("CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_BOOT")


@cache
def why_not(root: Path, *, network: bool) -> str:
    """Return why bubblewrap does not work for the project at `root`, or "". Runs it once per process to find out."""
    try:
        command = [*_isolated(root, network=network), "--tmpfs", "/tmp", "--", "true"]  # noqa: S108 - it exists
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS_TO_PROVE, check=False, cwd="/"
        )
    except NotReady as error:
        return error.message
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not run: {error}"
    if done.returncode:
        return f"bubblewrap does not work: {done.stderr.decode('utf-8', 'replace').strip()}"
    return ""


def wrapper(root: Path, *, hidden: Iterable[Path], read_only: Iterable[Path], network: bool) -> list[str]:
    """Return the command that runs what follows `--` in `root`, isolated. `root`, `hidden` and `read_only` may be or
    contain links.

    Raises:
        NotReady: the project itself lies in a hidden or read-only folder.
    """
    here = os.path.realpath(root)
    command = _isolated(root, network=network)
    shut: list[str] = []
    for path in _places(hidden, here):
        shut.append(path)
        if Path(path).is_dir():
            command += ("--tmpfs", path, "--remount-ro", path)
        else:
            command += ("--ro-bind", os.devnull, path)
    for path in _places(read_only, here):
        if not any(within(path, folder) for folder in shut):
            command += ("--ro-bind", path, path)
    return [*command, "--die-with-parent", "--chdir", here]


def _isolated(root: Path, *, network: bool) -> list[str]:
    bubblewrap = find_program("bwrap", root)
    if bubblewrap is None:
        raise NotReady("bubblewrap (bwrap) is not installed", hint="install it, outside of the project")
    command = [bubblewrap, "--unshare-pid", "--new-session"]
    command += ("--bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if not network:
        command.append("--unshare-net")
    graphics = (entry.name for entry in os.scandir("/dev") if entry.name.startswith("nvidia"))
    for device in (*_DEVICES, *sorted(graphics)):
        if Path("/dev", device).exists():
            command += ("--dev-bind", f"/dev/{device}", f"/dev/{device}")
    for starter in _STARTERS:
        socket = os.path.realpath(starter.format(user=os.getuid()))
        if Path(socket).exists():
            command += ("--ro-bind", os.devnull, socket)
    if os.geteuid() == 0:
        for capability in _TOO_POWERFUL:
            command += ("--cap-drop", capability)
    return command


def _places(paths: Iterable[Path], root: str) -> Sequence[str]:
    """Return the real paths of those `paths` that exist; bubblewrap would create the others."""
    places = dict.fromkeys(os.path.realpath(path) for path in paths if path.exists())
    for place in places:
        if within(root, place):
            raise NotReady(
                f"the project {root} lies in {place}, which a build must not see or change",
                hint="make it a folder or file of the project, not a link to what holds the project",
            )
    return sorted(places)
