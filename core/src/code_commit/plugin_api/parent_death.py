"""Let the system end a process whose parent was killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys


def signalled_at_our_end(number: signal.Signals) -> tuple[str, ...]:
    """Return the start of a command that gets the signal `number` when this process ends.

    It is empty where no system does that.
    """
    if sys.platform != "linux":
        return ()
    # Not from PATH, where a build could put a program.
    setpriv = shutil.which("setpriv", path=os.defpath)
    if setpriv is None:
        return ()
    return (setpriv, "--pdeathsig", number.name.removeprefix("SIG"), "--")
