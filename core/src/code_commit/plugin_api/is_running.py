"""Whether a run still goes on: its process holds a lock on its events, which the system drops with the process."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def is_running(folder: Path) -> bool:
    """Tell of the run in `folder`, where it has no ending, whether it may still come to one; else it was killed."""
    try:
        handle = os.open(folder / "events.jsonl", _READ)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False
