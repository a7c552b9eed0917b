"""Limit a running process, so that none of our code runs between fork and exec."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

_SPARE_CPU = 30.0  # seconds


def bind(pid: int, *, memory: int, seconds: float) -> None:
    """Limit the process `pid` to `memory` more bytes than now, no files, and little CPU time.

    RLIMIT_DATA counts what V8 reserved at its start, hence "more than now"; with RLIMIT_AS it would
    not start. Only Linux can limit a running process; elsewhere only the heap is limited.
    """
    if not hasattr(resource, "prlimit"):
        return
    # The host limits the wall time; this limit applies if the host is killed.
    cpu = int(2 * seconds + _SPARE_CPU)
    bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CPU: cpu}
    data = _data_size(pid)
    if data is not None:
        bounds[resource.RLIMIT_DATA] = data + memory
    with suppress(ProcessLookupError):  # it has ended, which the caller detects
        for kind, bound in bounds.items():
            resource.prlimit(pid, kind, (bound, bound))


def _data_size(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return None
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmData:")]
    return int(sizes[0]) * 1024 if sizes else None
