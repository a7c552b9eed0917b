"""Make sure that no process of this plugin outlives the host."""

from __future__ import annotations

import os
import shutil
import sys


def parent_death_command() -> tuple[str, ...]:
    """Return a command prefix by which the system kills the process with the host; empty where unsupported.

    CPU time is limited in any case.
    """
    # Not from PATH, where a build could put one.
    setpriv = shutil.which("setpriv", path=os.defpath) if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
