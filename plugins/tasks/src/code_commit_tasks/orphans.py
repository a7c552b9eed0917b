"""No process of this plugin outlives the host, however that ends."""

from __future__ import annotations

import shutil
import sys


def dies_with_its_host() -> tuple[str, ...]:
    """Return what stands before a command so that the system kills it with the host; nothing where that is missing.

    CPU time is a bound in any case.
    """
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()
