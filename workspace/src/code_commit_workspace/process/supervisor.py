"""Run a command, and end all its descendants when the command ends or when our parent goes away.

This is a separate program, so that all its children belong to the command. Its arguments are
CONTROL STATUS SCOPE COMMAND... The SCOPE is "all", or for a command in a sandbox, "sandbox" or
"set-uid": then the command possesses no key of the session. With "sandbox", no signal and no
abstract socket reaches other processes, if the kernel supports that; a set-uid program would not
work so. As a "child subreaper" (prctl(2), Linux), it becomes the parent of every daemon that tries
to detach; elsewhere it can only end the command's process group. A command without a sandbox could
kill its parent, so it gets another one.

CONTROL is a pipe: at its end of file, all processes are killed. STATUS is a pipe that receives
lines: `pid N` of the command; `exit N` or `signal N` at its end; `cannot N why`, with a shell's
exit code, if it could not start; `left N` if processes of another user did not die.

Every build waits for it to start, so it imports only what it needs, not even `signal` and
`pathlib`.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
# System calls, with the same numbers on every architecture but alpha.
_CREATE_RULESET = 444
_RESTRICT_SELF = 446
_KEYCTL = {"x86_64": 250, "aarch64": 219}  # its number, for a Python of 64 bits
_JOIN_SESSION_KEYRING = 1
_RULESET_VERSION = 1  # a flag: return the version of the interface
_FIRST_VERSION_WITH_SCOPES = 6
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_SIGKILL = 9
_SIGSTOP = 19  # its number on Linux; not sent elsewhere
_IGNORED_BY_PYTHON = (13, 25)  # SIGPIPE and SIGXFSZ
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - see above
_PATIENCE = 3.0  # seconds for processes that cannot be killed to end
_PAUSE = 0.0005  # seconds between the first checks of killed processes
_SLOWER = 1.1  # how much longer each next pause is
_POLL = 0.05  # seconds between checks of the command, where the system cannot signal its end


def main(control: str, status: str, scope: str, *command: str) -> NoReturn:
    """Supervise `command`; exit without Python's shutdown, which outlasts many commands."""
    if scope != "all":
        _join_fresh_keyring()  # its children inherit this
    _supervise(int(control), int(status), list(command), isolated=scope == "sandbox")
    os._exit(0)


def _supervise(control: int, status: int, command: list[str], *, isolated: bool) -> None:
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    reaper = _become_subreaper()
    if isolated:
        _restrict_scope()  # its children inherit this
    is_apart = reaper and not isolated
    child = _run_apart(command, status) if is_apart else _run(command, status)
    if child is None:
        return
    code = _wait(child, control)
    if code is not None and not is_apart:
        _report_end(status, code)
    if not reaper:
        _kill_group(child)
        return
    remaining = _kill_descendants()
    if remaining:
        _report(status, f"left {remaining}")


def _run_apart(command: list[str], status: int) -> int:
    """Start `command` below another process, which reports its end.

    The command can find and kill only that parent.
    """
    parent = os.fork()
    if parent:
        return parent
    os.setsid()
    child = _run(command, status)
    if child is not None:
        _, ending = os.waitpid(child, 0)
        _report_end(status, os.waitstatus_to_exitcode(ending))
    os._exit(0)


def _run(command: list[str], status: int) -> int | None:
    """Start `command`, and report its id; return None if it cannot start."""
    try:
        child = _start(command)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        _report(status, f"cannot {code} {error.strerror}")
        return None
    _report(status, f"pid {child}")
    return child


def _report_end(status: int, code: int) -> None:
    _report(status, f"signal {-code}" if code < 0 else f"exit {code}")


def _become_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _join_fresh_keyring() -> None:
    """Replace the session keyring of keyrings(7) by an empty one; do nothing where there is none.

    The filter of the sandbox refuses all calls about keys, also where this fails.
    """
    number = _KEYCTL.get(os.uname().machine)
    if number and sys.maxsize > 2**32:
        import ctypes

        ctypes.CDLL(None).syscall(number, _JOIN_SESSION_KEYRING, None)


def _restrict_scope() -> None:
    """Keep signals and abstract sockets of this process and its children from reaching others.

    Use landlock(7). This needs Linux 6.12; do nothing elsewhere. Rules about files would forbid
    mounts, so there are none.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _RULESET_VERSION)
    if version < _FIRST_VERSION_WITH_SCOPES:
        return
    # Access to files, to the network, scopes.
    ruleset = (ctypes.c_uint64 * 3)(0, 0, _ABSTRACT_SOCKETS_AND_SIGNALS)
    size = ctypes.c_size_t(ctypes.sizeof(ruleset))
    handle = libc.syscall(_CREATE_RULESET, ruleset, size, 0)
    if handle >= 0 and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        libc.syscall(_RESTRICT_SELF, handle, 0)


def _start(command: list[str]) -> int:
    try:
        return os.posix_spawnp(
            command[0], command, os.environ, setsid=True, setsigdef=_IGNORED_BY_PYTHON
        )
    except NotImplementedError:
        return os.posix_spawnp(
            command[0], command, os.environ, setpgroup=0, setsigdef=_IGNORED_BY_PYTHON
        )


def _wait(child: int, control: int) -> int | None:
    """Return the child's exit code or negative signal number; None if CONTROL ends first."""
    watched = [control]
    pause: float | None = None
    try:
        watched.append(os.pidfd_open(child))
    except (OSError, AttributeError):  # an old kernel or another system
        pause = _POLL
    while True:
        ready, _, _ = select.select(watched, [], [], pause)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if control in ready:
            return None


def _kill_descendants() -> int:
    """Kill all descendants and wait for them; return how many may not be killed and remain.

    One that was killed ends, if late: the disk or the whole machine may stand still. Our parent
    limits that wait.
    """
    deadline = time.monotonic() + _PATIENCE
    pause = _PAUSE
    while _has_children():
        refused = [pid for pid in _stop_descendants() if not _signal(pid, _SIGKILL)]
        if refused and time.monotonic() > deadline:
            return len(refused)
        time.sleep(pause)
        pause = min(pause * _SLOWER, _POLL)
    return 0


def _has_children() -> bool:
    """Reap the children that have ended, and return whether others remain."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _stop_descendants() -> set[int]:
    """Stop all descendants, and return their ids.

    Stop each one before you list its children, because a process may fork faster than it is killed.
    A process that loses its parent meanwhile becomes our child, so repeat until no new one appears.
    """
    stopped: set[int] = set()
    while True:
        ahead = _children(os.getpid()) - stopped
        if not ahead:
            return stopped
        while ahead:
            pid = ahead.pop()
            _signal(pid, _SIGSTOP)
            stopped.add(pid)
            ahead |= _children(pid) - stopped


def _children(parent: int) -> set[int]:
    if not _LISTS_CHILDREN:
        return _children_by_search(parent)
    children: set[int] = set()
    try:
        for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - see above
            with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:  # noqa: PTH123 - see above
                children.update(map(int, file.read().split()))
    except OSError:
        pass  # it has ended
    return children


def _children_by_search(parent: int) -> set[int]:
    children: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - see above
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - see above
                after_name = file.read().rpartition(b")")[2]
            if int(after_name.split()[1]) == parent:
                children.add(int(name))
        except OSError:
            continue  # it has ended
    return children


def _signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except PermissionError:
        return False  # it belongs to another user
    except OSError:
        pass  # it has ended
    return True


def _kill_group(child: int) -> None:
    try:
        os.killpg(child, _SIGKILL)
    except OSError:
        return


def _report(status: int, line: str) -> None:
    try:
        os.write(status, f"{line}\n".encode("utf-8", "replace"))
    except OSError:
        return  # the parent is gone
