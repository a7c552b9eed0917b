"""What a fleet adds to its units: time against xargs, time for a unit that does nothing, memory of
the driver; and whether two workers do twice the work of one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from harness import Command, Line, Measured, NotMeasured, medians, peak_memory, printed, report, run

UNITS = Path(__file__).with_name("fleet_units.py")
WORKERS = Path(__file__).with_name("fleet_workers.py")
EMPTY = 2000
ROUNDS = 3


def main() -> list[Line]:
    """Measure and print."""
    if importlib.util.find_spec("code_commit_fleet") is None:
        lines: list[Line] = [NotMeasured("a fleet", "code-commit-fleet is not installed")]
    else:
        lines = _measured()
    report("a fleet", lines)
    return lines


def _measured() -> list[Line]:
    def fleet(*arguments: str) -> Command:
        return Command([sys.executable, str(UNITS), *arguments])

    xargs = Command(["bash", "-c", "seq 64 | xargs -P 8 -I{} sleep 1"])
    seconds = medians({"fleet": fleet("64", "1", "0"), "xargs": xargs}, rounds=ROUNDS)
    nothing = (run(fleet(str(EMPTY), "0", "0")) - run(fleet("1", "0", "0"))) / EMPTY
    empty = peak_memory(fleet(str(EMPTY), "0", "0"))
    large = peak_memory(fleet("200", "0", "5000000"))
    one, two = (
        printed(Command([sys.executable, str(WORKERS), f"{count}", "32", "2"])) for count in (1, 2)
    )
    return [
        Measured("two workers, 32 units that wait for 2 s", two, one, 1 / 1.8, "one worker"),
        Measured(
            "64 units of 1 s on 8 slots", seconds["fleet"], seconds["xargs"], 1.15, "xargs -P 8"
        ),
        Measured(f"a unit of {EMPTY} that do nothing", nothing, 0.010, 1, "10 ms"),
        Measured(f"the driver of {EMPTY} units", empty, 300, 1, "300 MB", "MB"),
        Measured("the driver of 200 results of 5 MB", large, 150, 1, "150 MB", "MB"),
    ]


if __name__ == "__main__":
    main()
