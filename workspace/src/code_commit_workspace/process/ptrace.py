"""The memory of this process, which holds keys."""

from __future__ import annotations

import sys

_PR_SET_DUMPABLE = 4


def disable_ptrace() -> None:
    """Keep other processes of this user from reading the memory and the environment of this one, or tracing it.

    On Linux (prctl(2), PR_SET_DUMPABLE); elsewhere nothing happens. It leaves no core dump either. Root can read it
    all the same, and what this process starts is not concerned.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
