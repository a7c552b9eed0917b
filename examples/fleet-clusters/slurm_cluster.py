"""Start the workers of a fleet as jobs of Slurm. Run it on a login node:

    python slurm_cluster.py 10

It prints the address for `code-commit fleet run FILE --scheduler ADDRESS`, and ends the jobs at
Ctrl-C. Needs dask-jobqueue; its classes for PBS, SGE, LSF and HTCondor take the same arguments.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

from dask_jobqueue import SLURMCluster
from distributed import Security

TLS = Path.home() / ".config/code-commit/tls"  # no build can read it


def security(tls: Path) -> Security:
    """Return the certificates for all roles."""
    roles = [f"tls_{role}" for role in ("scheduler", "worker", "client")]
    files = {
        f"{role}_{part}": str(tls / f"{part}.pem") for role in roles for part in ("key", "cert")
    }
    return Security(require_encryption=True, tls_ca_file=str(tls / "ca.pem"), **files)


def start(jobs: int, **more: Any) -> SLURMCluster:
    """Return a cluster with `jobs` jobs of 8 slots. Without a scheduler, a job ends in a minute."""
    return SLURMCluster(
        n_workers=jobs,
        cores=8,
        processes=1,
        memory="32GB",
        walltime="24:00:00",
        protocol="tls://",
        security=security(TLS),
        worker_extra_args=["--no-dashboard"],
        scheduler_options={"port": 8786, "dashboard": False},
        **more,
    )


if __name__ == "__main__":
    with start(int(sys.argv[1])) as cluster:
        print(cluster.scheduler_address, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
