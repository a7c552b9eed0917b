"""Start the workers of a fleet on machines that you reach by SSH. Run it on the first machine:

    python ssh_cluster.py machine1 machine2 machine3

It prints the address for `code-commit fleet run FILE --scheduler ADDRESS`, and ends the workers at
Ctrl-C. Needs asyncssh. The certificates are at the same place on each machine.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import dask
from distributed import Security, SpecCluster, SSHCluster

TLS = Path.home() / ".config/code-commit/tls"  # no build can read it


def settings(tls: Path) -> dict[str, Any]:
    """Return the settings of Dask. SSHCluster sends them to the workers: paths, not the keys."""
    roles = [f"distributed.comm.tls.{role}" for role in ("scheduler", "worker", "client")]
    files = {
        f"{role}.{part}": str(tls / f"{part}.pem") for role in roles for part in ("key", "cert")
    }
    return {
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.ca-file": str(tls / "ca.pem"),
        **files,
    }


def start(machines: list[str], **more: Any) -> SpecCluster:
    """Return a cluster: the scheduler on the first machine, 8 slots on each of the others."""
    dask.config.set(settings(TLS))
    return SSHCluster(
        machines,
        security=Security(),
        worker_options={"nthreads": 8},
        scheduler_options={"port": 8786, "dashboard": False, "protocol": "tls://"},
        **more,
    )


if __name__ == "__main__":
    with start(sys.argv[1:]) as cluster:
        print(cluster.scheduler_address, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
