"""Runs a command, and ends every descendant of it when the command ends or when whoever started this goes away.

A program of its own, so that it is a process in which no one else's children can be mistaken for the command's; its
arguments are CONTROL STATUS COMMAND... As a "child subreaper" (prctl(2), Linux) it becomes the parent of every daemon
that tries to leave; elsewhere it can only end the command's process group.

CONTROL is a pipe: at its end of file, all are killed. On the pipe STATUS it tells, a line each: `pid N` of the command;
`exit N` or `signal N`, how it ended, or `cannot N why`, with a shell's exit code, if it could not be started; `left N`
if processes of another user would not die.

Every build waits for this to start: it imports nothing that it can do without, `signal` and `pathlib` included.
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
_SIGKILL = 9
_SIGSTOP = 19  # on Linux, and only there it is sent
_IGNORED_BY_PYTHON = (13, 25)  # SIGPIPE and SIGXFSZ
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - see above
_PATIENCE = 3.0  # seconds for killed processes to be gone
_PAUSE = 0.0005  # seconds between two looks at what was killed
_POLL = 0.05  # seconds between two looks at the command, where the system cannot tell when it ends


def main(control: str, status: str, *command: str) -> NoReturn:
    """Do it, and end this process at once: Python's own end takes longer than many a command."""
    _supervise(int(control), int(status), list(command))
    os._exit(0)


def _supervise(control: int, status: int, command: list[str]) -> None:
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    reaper = _become_subreaper()
    try:
        child = _start(command)
    except OSError as error:
        _tell(status, f"cannot {127 if isinstance(error, FileNotFoundError) else 126} {error.strerror}")
        return
    _tell(status, f"pid {child}")
    code = _wait(child, control)
    if code is not None:
        _tell(status, f"signal {-code}" if code < 0 else f"exit {code}")
    if not reaper:
        _kill_group(child)
    elif left := _kill_descendants():
        _tell(status, f"left {left}")


def _become_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _start(command: list[str]) -> int:
    try:
        return os.posix_spawnp(command[0], command, os.environ, setsid=True, setsigdef=_IGNORED_BY_PYTHON)
    except NotImplementedError:
        return os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigdef=_IGNORED_BY_PYTHON)


def _wait(child: int, control: int) -> int | None:
    """Return the child's exit code, minus a signal's number, or None: it is time to end it."""
    try:
        ended, pause = [os.pidfd_open(child)], None
    except (OSError, AttributeError):  # an old kernel, another system
        ended, pause = [], _POLL
    while True:
        ready, _, _ = select.select([control, *ended], [], [], pause)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if control in ready:
            return None


def _kill_descendants() -> int:
    """Kill all descendants and wait until they are gone; return how many would not go."""
    deadline = time.monotonic() + _PATIENCE
    while _has_children():
        found = _stop_descendants()
        for pid in found:
            _signal(pid, _SIGKILL)
        if time.monotonic() > deadline:
            return len(found)
        time.sleep(_PAUSE)
    return 0


def _has_children() -> bool:
    """Collect the children that have ended, and say whether others are there."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _stop_descendants() -> set[int]:
    """Stop all descendants, and return them.

    Each is stopped before its children are looked up: what forks faster than it can be killed would never end. Whoever
    loses its parent meanwhile becomes a child of this process, so look until nobody new is there.
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
        pass  # it ended meanwhile
    return children


def _children_by_search(parent: int) -> set[int]:
    children: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - see above
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - see above
                if int(file.read().rpartition(b")")[2].split()[1]) == parent:
                    children.add(int(name))
        except OSError:
            continue  # it ended meanwhile
    return children


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return  # it is gone, or another user's


def _kill_group(child: int) -> None:
    try:
        os.killpg(child, _SIGKILL)
    except OSError:
        return


def _tell(status: int, line: str) -> None:
    try:
        os.write(status, f"{line}\n".encode("utf-8", "replace"))
    except OSError:
        return  # whoever started this is gone
