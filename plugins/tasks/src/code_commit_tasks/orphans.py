"""Make sure that no process of this plugin outlives the host."""

from __future__ import annotations

import os
import shutil
import sys


def parent_death_command() -> tuple[str, ...]:
    """Return a command prefix that makes the system kill the process when the host ends; empty if unsupported.

    CPU time is always limited.
    """
    # Not from PATH, where a build could put a program.
    setpriv = shutil.which("setpriv", path=os.defpath) if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
