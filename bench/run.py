"""Run all benchmarks, each against a peer measured in the same run.

Exits with 1 if a limit is exceeded. A line whose peer is not installed is counted and named, but is
no failure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import after_runs
import apply
import commit
import fleet
import growth
import memory
import rollup
import sandbox
import start_up
import streaming
import typescript_answer
from harness import Line, Measured, NotMeasured

ALL = {
    "start_up": start_up.main,
    "commit": commit.main,
    "apply": apply.main,
    "rollup": rollup.main,
    "memory": memory.main,
    "sandbox": sandbox.main,
    "streaming": streaming.main,
    "fleet": fleet.main,
    "typescript_answer": typescript_answer.main,
    "after_runs": after_runs.main,
    "growth": growth.main,
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    lines = [line for name in names or ALL for line in ALL[name]()]
    over = [line for line in lines if isinstance(line, Measured) and not line.ok]
    print(f"\n{len(lines)} lines")
    _report("over a limit", over)
    _report("not measured", [line for line in lines if isinstance(line, NotMeasured)])
    return 1 if over else 0


def _report(title: str, lines: Sequence[Line]) -> None:
    names = f": {', '.join(line.name for line in lines)}" if lines else ""
    print(f"{len(lines)} {title}{names}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
