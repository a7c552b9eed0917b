"""Runs a command, and ends every descendant of it when the command ends or when whoever started this goes away.

A script of its own, started as `python -I -S supervisor.py CONTROL STATUS COMMAND...`: so it is a process in which no
one else's children can be mistaken for the command's. As a "child subreaper" (prctl(2), Linux) it becomes the parent of
every daemon that tries to leave; elsewhere it can only end the command's process group.

CONTROL is a pipe: at its end of file, all are killed. On the pipe STATUS it tells, a line each: `pid N` of the command;
`exit N`, `signal N`, or `cannot N message` when the command could not be started; `left N` if processes of another
user would not die.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the end of CONTROL is what ends this
_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - pathlib is slow to load
_PATIENCE = 3.0  # seconds for killed processes to be gone


def main(control: int, status: int, command: list[str]) -> None:
    os.set_inheritable(control, False)
    os.set_inheritable(status, False)
    reaper = _become_subreaper()
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    child = _start(command, status)
    _tell(status, f"pid {child}")
    ending = _wait(child, control, wake)
    if ending is not None:
        _tell(status, f"signal {-ending}" if ending < 0 else f"exit {ending}")
    if reaper:
        left = _kill_descendants(wake)
        if left:
            _tell(status, f"left {left}")
    else:
        _kill_group(child)


def _become_subreaper() -> bool:
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _start(command: list[str], status: int) -> int:
    child = os.fork()
    if child:
        return child
    code, reason = 126, ""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *_IGNORED):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        code, reason = 127 if error.errno == errno.ENOENT else 126, str(error.strerror)
    except ValueError as error:
        reason = str(error)
    finally:
        _tell(status, f"cannot {code} {reason}")
        os._exit(code)


def _wait(child: int, control: int, wake: int) -> int | None:
    """Return the child's exit code, minus a signal's number, or None: it is time to end it."""
    while True:
        for pid, code in _reap():
            if pid == child:
                return code
        ready, _, _ = select.select([control, wake], [], [])
        if control in ready:
            return None
        _drain(wake)


def _reap() -> list[tuple[int, int]]:
    """Collect the children that have ended."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.append((pid, os.waitstatus_to_exitcode(status)))


def _childless() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def _kill_descendants(wake: int) -> int:
    """Kill all descendants and wait until they are gone; return how many would not go."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        _reap()
        if _childless():
            return 0
        found = _stop_descendants()
        for pid in found:
            _signal(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return len(found)
        select.select([wake], [], [], 0.01)
        _drain(wake)


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
            _signal(pid, signal.SIGSTOP)
            stopped.add(pid)
            ahead |= _children(pid) - stopped


def _children(parent: int) -> set[int]:
    children: set[int] = set()
    try:
        for thread in os.listdir(f"/proc/{parent}/task"):  # noqa: PTH208 - pathlib is slow to load
            with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:  # noqa: PTH123 - as above
                children.update(map(int, file.read().split()))
    except FileNotFoundError:
        # It ended meanwhile, or this kernel has no such list.
        return children if _LISTS_CHILDREN else _children_by_search(parent)
    except OSError:
        pass
    return children


def _children_by_search(parent: int) -> set[int]:
    children: set[int] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - as above
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
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
        os.killpg(child, signal.SIGKILL)
    except OSError:
        return
    _reap()


def _drain(wake: int) -> None:
    try:
        while os.read(wake, 4096):
            pass
    except BlockingIOError:
        return


def _tell(status: int, line: str) -> None:
    try:
        os.write(status, f"{line}\n".encode("utf-8", "replace"))
    except OSError:
        return  # whoever started this is gone


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
