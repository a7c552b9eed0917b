"""Every benchmark, each line against a peer measured in the same run. Exits with 1 when a limit is passed."""

from __future__ import annotations

import sys

import apply
import commit
import memory
import start_up
import typescript_answer
from harness import Line, Measured, NotMeasured, report


def rollup() -> list[Line]:
    """Say what is not there yet."""
    lines: list[Line] = [NotMeasured("rollup of a large repository", "the command `rollup` does not exist yet")]
    report("rollup", lines)
    return lines


ALL = {
    "start_up": start_up.main,
    "commit": commit.main,
    "apply": apply.main,
    "rollup": rollup,
    "memory": memory.main,
    "typescript_answer": typescript_answer.main,
}


def main(names: list[str]) -> int:
    """Run those named, or all."""
    lines = [line for name in names or ALL for line in ALL[name]()]
    over = [line.name for line in lines if isinstance(line, Measured) and not line.ok]
    print(f"\n{len(lines)} lines, {len(over)} over the limit{': ' if over else ''}{', '.join(over)}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
