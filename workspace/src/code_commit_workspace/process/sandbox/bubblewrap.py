"""The options of bubblewrap that do not depend on a project, and whether bubblewrap works."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import exists, is_folder
from code_commit_workspace.process.launch import Process

_SECONDS_TO_PROVE = 20
_LONGEST_MESSAGE = 4096  # bytes
# Devices for graphics and computing, besides the usual ones; no disks, no terminals of other
# processes, and no virtual machines, which would be run by a kernel that sees no filter.
_DEVICES = ("dri", "kfd")
# What anybody may write to, and folders of /proc through which root could change the kernel without
# any capability.
_KERNEL = ("pressure", "sys")
_KERNEL_OF_ROOT = ("acpi", "bus", "dynamic_debug", "fs", "irq", "mtrr", "scsi", "sysrq-trigger")
# What root and the account have in the keyrings of the kernel: also listed for those who possess
# nothing of it.
_LISTS_OF_KEYS = ("/proc/keys", "/proc/key-users")
# Root needs these to work on files of another user.
_OWNER_CAPABILITIES = ("CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_CHOWN")


def isolation(*, network: bool, owner: int) -> list[str]:
    """Return the options that stand before the mounts of a project.

    `owner` is the user id to which the folder of the project belongs.
    """
    is_root = os.geteuid() == 0
    options = ["--unshare-pid", "--unshare-ipc", "--new-session", "--cap-drop", "ALL"]
    if not network:
        options.append("--unshare-net")
    if is_root and owner != 0:
        for capability in _OWNER_CAPABILITIES:
            options += ("--cap-add", capability)
    options += ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    if is_folder("/dev/mqueue"):
        options += ("--mqueue", "/dev/mqueue")
    for device in filter(exists, _device_paths()):
        options += ("--dev-bind", device, device)
    kernel = [*_KERNEL]
    if is_root:
        kernel += _KERNEL_OF_ROOT
    for name in kernel:
        path = f"/proc/{name}"
        if exists(path):
            options += ("--ro-bind", path, path)
    for path in filter(exists, _LISTS_OF_KEYS):
        options += ("--ro-bind", "/dev/null", path)  # no device opens on a mount of bubblewrap
    return options


def _device_paths() -> list[str]:
    """Return the devices that processes may use, existing or not."""
    names = sorted(entry.name for entry in os.scandir("/dev"))
    nvidia = [name for name in names if name.startswith("nvidia")]
    return [f"/dev/{name}" for name in (*_DEVICES, *nvidia)]


def failure(command: Sequence[str]) -> str:
    """Try `command`, bubblewrap with options; return why it fails, or "".

    It runs under the supervisor: bubblewrap leaves a process behind if it is killed as it starts.

    Raises:
        NotReady: it does not end.
    """
    attempt = [command[0], "--version"]
    try:
        process = Process(attempt, wrapper=command, cwd=Path("/"), env=os.environ, stdin=b"")
        with process:
            if process.wait(_SECONDS_TO_PROVE) == 0:
                return ""
            output = os.read(process.stderr, _LONGEST_MESSAGE)
    except TimeoutError as error:
        raise NotReady(
            f"bubblewrap does not end within {_SECONDS_TO_PROVE} seconds",
            hint="run again, or pass --sandbox off",
        ) from error
    except OSError as error:
        return f"bubblewrap does not run: {error}"
    message = output.decode("utf-8", "replace").strip()
    return f"bubblewrap does not work: {message or process.trouble}"
