"""Run units that sleep, or give bytes, through the fleet's driver and a local cluster.

    python fleet_units.py UNITS SECONDS BYTES

A unit does not start code-commit here: only what the fleet itself takes is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from code_commit_fleet import bundle, unit
from code_commit_fleet.cluster import local_cluster
from code_commit_fleet.driver import Driver, Limits
from code_commit_fleet.fleet_folder import FleetFolder, Tried
from code_commit_fleet.plan import Unit

SLOTS = 8


def sleep(payload: bytes) -> bytes:
    """Run `sleep`, and return a result of the size that was asked for."""
    from code_commit_fleet import bundle, unit  # Dask sends this function by its value

    order = json.loads(payload)
    if order["seconds"]:
        subprocess.run(["sleep", str(order["seconds"])], check=True)
    with unit._packing:  # noqa: SLF001 - as a unit does
        files = [("build.txt", os.urandom(order["bytes"]))] if order["bytes"] else []
        return bundle.pack({"outcome": "reached"}, files)


def main(count: int, seconds: float, size: int) -> None:
    """Run `count` units."""
    unit.run_unit = sleep
    with tempfile.TemporaryDirectory() as scratch, local_cluster(SLOTS) as cluster:
        folder = FleetFolder(Path(scratch, "fleet.toml"))
        folder.path.mkdir()

        def order(_unit: Unit, _number: int, _reserved: float | None) -> Mapping[str, object]:
            return {"seconds": seconds, "bytes": size}

        def take(one: Unit, number: int, data: bytes, _reserved: float | None) -> Tried:
            target = folder.unit_folder(one.unit)
            target.mkdir(parents=True)
            record = bundle.unpack(data, target)
            return Tried(one.unit, one.repository, one.model, number, record["outcome"])

        limits = Limits(None, None, 0, {}, 600, 600, 600)
        driver = Driver(cluster, folder, limits, order=order, take=take, report=lambda *_: None)
        driver.run(
            Unit(f"{n}", f"r{n}", "m", "p", "/r", "", "", "q", "", "b") for n in range(count)
        )
        assert (
            len({attempt.unit for attempt in folder.tries() if attempt.outcome == "reached"})
            == count
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
