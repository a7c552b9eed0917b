"""Print the seconds that a cluster of separate worker processes takes for units that wait, its
start not counted.

    python fleet_workers.py WORKERS UNITS SECONDS

A unit sleeps, as one does whose model thinks.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from distributed import LocalCluster
from fleet_units import sleep

from code_commit_fleet import unit
from code_commit_fleet.cluster import remote_cluster
from code_commit_fleet.driver import Driver, Limits
from code_commit_fleet.fleet_folder import FleetFolder, Tried
from code_commit_fleet.plan import Unit

SLOTS = 4  # of each worker


def main(workers: int, count: int, seconds: float) -> None:
    """Run `count` units, and print how long they took."""
    unit.run_unit = sleep
    with (
        tempfile.TemporaryDirectory() as scratch,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=SLOTS,
            dashboard_address="127.0.0.1:0",
            local_directory=scratch,
        ) as started,
        remote_cluster(started.scheduler_address, wait=60, insecure=True, report=print) as cluster,
    ):
        while len(cluster.slots()) < workers:
            cluster.wait(1)
        folder = FleetFolder(Path(scratch, "fleet.toml"))
        folder.path.mkdir()

        def order(_unit: Unit, _number: int, _reserved: float | None) -> Mapping[str, object]:
            return {"seconds": seconds, "bytes": 0}

        def take(one: Unit, number: int, _data: bytes, _reserved: float | None) -> Tried:
            return Tried(one.unit, one.repository, one.model, number, "reached")

        limits = Limits(None, None, 0, {}, 600, 600, 600)
        driver = Driver(cluster, folder, limits, order=order, take=take, report=lambda *_: None)
        began = time.perf_counter()
        driver.run(
            Unit(f"{n}", f"r{n}", "m", "p", "/r", "", "", "q", "", "b") for n in range(count)
        )
        print(time.perf_counter() - began)
        assert (
            len({attempt.unit for attempt in folder.tries() if attempt.outcome == "reached"})
            == count
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
