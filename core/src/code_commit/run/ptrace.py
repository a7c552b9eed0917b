"""Protect the memory of this process, which holds keys."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4


def disable_ptrace() -> None:
    """Keep the user's other processes from tracing this one and from reading its memory.

    This works on Linux (prctl(2), PR_SET_DUMPABLE) and does nothing elsewhere. It also disables
    core dumps. Root can still read the memory, and child processes are not affected.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
