"""Run a command, print its peak resident memory in kB, and exit with its status."""

from __future__ import annotations

import os
import sys

child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(f"\n{usage.ru_maxrss}", flush=True)
sys.exit(os.waitstatus_to_exitcode(status))
