"""Make sure that no process of this plugin outlives the host."""

from __future__ import annotations

import shutil
import sys


def parent_death_command() -> tuple[str, ...]:
    """Return a command prefix by which the system kills the process with the host; empty where unsupported.

    CPU time is limited in any case.
    """
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
