"""Landlock scopes: no abstract socket and no signal reaches a process outside (Linux 6.12 and later).

The supervisor imports this as a module of its own, so it imports nothing of the package.
"""

from __future__ import annotations

import ctypes

_PR_SET_NO_NEW_PRIVS = 38
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same numbers on every architecture but alpha
_VERSION = 1  # a flag: return the version of the interface
_FIRST_VERSION_WITH_SCOPES = 6
_ABSTRACT_SOCKETS_AND_SIGNALS = 3


class _Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`. It handles no access to files: a process could not mount anything then."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("access_fs", "access_net", "scoped")]


def restrict_scope() -> bool:
    """Keep this process and what it starts from others; return False where the kernel cannot."""
    libc = ctypes.CDLL(None)
    if libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION) < _FIRST_VERSION_WITH_SCOPES:
        return False
    ruleset = _Ruleset(0, 0, _ABSTRACT_SOCKETS_AND_SIGNALS)
    handle = libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(ctypes.sizeof(ruleset)), 0)
    if handle < 0 or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return bool(libc.syscall(_RESTRICT_SELF, handle, 0) == 0)
