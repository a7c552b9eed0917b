"""What no sandboxed process may ask of the kernel, and why.

Left open on purpose: namespaces and `mount`, for sandboxes in the sandbox, such as a browser's and
bubblewrap; `ptrace`, `process_vm_readv` and `personality`, for debuggers and sanitizers; `mbind`
and `set_mempolicy`, for numerical libraries. `clone3` and other calls that glibc tries first are
not touched.
"""

from __future__ import annotations

from dataclasses import dataclass

ABIS = ("x86_64", "i386", "aarch64", "arm")  # the order of all numbers below

# Errors with their numbers on Linux. EPERM is what the kernel answers where an administrator closed
# a call, ENOSYS where it was built without it: programs expect one of them, depending on the call.
CLOSED = 1  # EPERM
MISSING = 38  # ENOSYS
_NO_SUCH_FAMILY = 97  # EAFNOSUPPORT


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that always fails with `error`. `numbers` are those of `ABIS`; None: not there."""

    name: str
    numbers: tuple[int | None, int | None, int | None, int | None]
    error: int
    reason: str


@dataclass(frozen=True, slots=True)
class LimitedCall:
    """A call that fails if one argument is among `values`, or with `only`, if it is not.

    Only the lower 32 bits are compared: the kernel ignores the others of these arguments.
    """

    name: str
    numbers: tuple[int | None, int | None, int | None, int | None]
    argument: int
    values: tuple[int, ...]
    error: int
    reason: str
    only: bool = False


@dataclass(frozen=True, slots=True)
class ModeCall:
    """A call that fails with EPERM if its argument `mode` has `SET_UID_BIT`.

    With `flags`, the number of another argument, only if this has one of `CREATING_FLAGS`:
    otherwise the kernel ignores the mode.
    """

    name: str
    numbers: tuple[int | None, int | None, int | None, int | None]
    mode: int
    flags: int | None = None


_KEYS = "keys belong to the account, not to the sandbox, and stay after it"
_RING = "a ring makes calls that no filter sees, such as opening a socket"
_KERNEL = "runs code in the kernel, or replaces it"
_MEMORY = "attacks on the kernel's memory use it, and no build does"
_HIDDEN_MODE = "its mode is in memory, where no filter sees it; programs go back to openat(2)"
_HANDLES = "reaches files by number, around the mounts"
_MOUNTS = "a second way to mount, with flaws of its own; programs go back to mount(2)"
_MACHINE = "changes the whole machine"
_HARDWARE = "reaches the hardware"
_OLD = "an old call that nothing needs and few test"

REFUSED_CALLS = (
    RefusedCall("add_key", (248, 286, 217, 309), MISSING, _KEYS),
    RefusedCall("request_key", (249, 287, 218, 310), MISSING, _KEYS),
    RefusedCall("keyctl", (250, 288, 219, 311), MISSING, _KEYS),
    RefusedCall("io_uring_setup", (425, 425, 425, 425), MISSING, _RING),
    RefusedCall("io_uring_enter", (426, 426, 426, 426), MISSING, _RING),
    RefusedCall("io_uring_register", (427, 427, 427, 427), MISSING, _RING),
    RefusedCall("bpf", (321, 357, 280, 386), CLOSED, _KERNEL),
    RefusedCall("init_module", (175, 128, 105, 128), CLOSED, _KERNEL),
    RefusedCall("finit_module", (313, 350, 273, 379), CLOSED, _KERNEL),
    RefusedCall("delete_module", (176, 129, 106, 129), CLOSED, _KERNEL),
    RefusedCall("kexec_load", (246, 283, 104, 347), CLOSED, _KERNEL),
    RefusedCall("kexec_file_load", (320, None, 294, 401), CLOSED, _KERNEL),
    RefusedCall("perf_event_open", (298, 336, 241, 364), CLOSED, _MEMORY),
    RefusedCall("userfaultfd", (323, 374, 282, 388), CLOSED, _MEMORY),
    RefusedCall("move_pages", (279, 317, 239, 344), CLOSED, _MEMORY),
    RefusedCall("migrate_pages", (256, 294, 238, 400), CLOSED, _MEMORY),
    RefusedCall("open_by_handle_at", (304, 342, 265, 371), CLOSED, _HANDLES),
    RefusedCall("fanotify_init", (300, 338, 262, 367), CLOSED, _HANDLES),
    RefusedCall("openat2", (437, 437, 437, 437), MISSING, _HIDDEN_MODE),
    RefusedCall("open_tree", (428, 428, 428, 428), MISSING, _MOUNTS),
    RefusedCall("open_tree_attr", (467, 467, 467, 467), MISSING, _MOUNTS),
    RefusedCall("move_mount", (429, 429, 429, 429), MISSING, _MOUNTS),
    RefusedCall("fsopen", (430, 430, 430, 430), MISSING, _MOUNTS),
    RefusedCall("fsconfig", (431, 431, 431, 431), MISSING, _MOUNTS),
    RefusedCall("fsmount", (432, 432, 432, 432), MISSING, _MOUNTS),
    RefusedCall("fspick", (433, 433, 433, 433), MISSING, _MOUNTS),
    RefusedCall("mount_setattr", (442, 442, 442, 442), MISSING, _MOUNTS),
    RefusedCall("reboot", (169, 88, 142, 88), CLOSED, _MACHINE),
    RefusedCall("swapon", (167, 87, 224, 87), CLOSED, _MACHINE),
    RefusedCall("swapoff", (168, 115, 225, 115), CLOSED, _MACHINE),
    RefusedCall("acct", (163, 51, 89, 51), CLOSED, _MACHINE),
    RefusedCall("quotactl", (179, 131, 60, 131), CLOSED, _MACHINE),
    RefusedCall("quotactl_fd", (443, 443, 443, 443), CLOSED, _MACHINE),
    RefusedCall("settimeofday", (164, 79, 170, 79), CLOSED, _MACHINE),
    RefusedCall("clock_settime", (227, 264, 112, 262), CLOSED, _MACHINE),
    RefusedCall("clock_settime64", (None, 404, None, 404), CLOSED, _MACHINE),
    RefusedCall("stime", (None, 25, None, None), CLOSED, _MACHINE),
    RefusedCall("syslog", (103, 103, 116, 103), CLOSED, "shows and clears the kernel's log"),
    RefusedCall("iopl", (172, 110, None, None), CLOSED, _HARDWARE),
    RefusedCall("ioperm", (173, 101, None, None), CLOSED, _HARDWARE),
    RefusedCall("vhangup", (153, 111, 58, 111), CLOSED, "ends the session of a terminal"),
    RefusedCall("lookup_dcookie", (212, 253, 18, 249), CLOSED, _OLD),
    RefusedCall("uselib", (134, 86, None, 86), CLOSED, _OLD),
    RefusedCall("vm86", (None, 166, None, None), CLOSED, _OLD),
    RefusedCall("vm86old", (None, 113, None, None), CLOSED, _OLD),
)

_AF_UNIX = 1
_AF_INET = 2
_AF_INET6 = 10
_AF_NETLINK = 16
_TIOCSTI = 0x5412
_TIOCLINUX = 0x541C
_SYS_SOCKET = 1

LIMITED_CALLS = (
    LimitedCall(
        name="socket",
        numbers=(41, 359, 198, 281),
        argument=0,
        values=(_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK),
        only=True,
        error=_NO_SUCH_FAMILY,
        reason="AF_VSOCK leads out of every network namespace; others load rarely tested modules",
    ),
    LimitedCall(
        name="socketcall",
        numbers=(None, 102, None, None),
        argument=0,
        values=(_SYS_SOCKET,),
        error=MISSING,
        reason="no filter can see the family; since Linux 4.3, there is socket(2) instead",
    ),
    LimitedCall(
        name="ioctl",
        numbers=(16, 54, 29, 54),
        argument=1,
        values=(_TIOCSTI, _TIOCLINUX),
        error=CLOSED,
        reason="types into a terminal, as if a person did",
    ),
)

# Nobody waits for the end of a process to run a program that it made: a look afterwards is late.
SET_UID_BIT = 0o4000
_O_CREAT = 0o100
_O_TMPFILE = 0o20000000  # without O_DIRECTORY, which is part of it in <fcntl.h>
CREATING_FLAGS = _O_CREAT | _O_TMPFILE

MODE_CALLS = (
    ModeCall("chmod", (90, 15, None, 15), mode=1),
    ModeCall("fchmod", (91, 94, 52, 94), mode=1),
    ModeCall("fchmodat", (268, 306, 53, 333), mode=2),
    ModeCall("fchmodat2", (452, 452, 452, 452), mode=2),
    ModeCall("creat", (85, 8, None, 8), mode=1),
    ModeCall("open", (2, 5, None, 5), mode=2, flags=1),
    ModeCall("openat", (257, 295, 56, 322), mode=3, flags=2),
    ModeCall("mknod", (133, 14, None, 14), mode=1),
    # The file system of message queues can be a lower layer of another one.
    ModeCall("mq_open", (240, 277, 180, 274), mode=2, flags=1),
    ModeCall("mknodat", (259, 297, 33, 324), mode=2),
)
