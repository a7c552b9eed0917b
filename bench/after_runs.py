"""The commands about runs, what a run sends, and what runs leave on disk."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from cpu import cpu_of, least_cpu
from default_installation import commits
from growth import size_on_disk
from harness import MEGABYTE, Command, Line, Measured, report, run
from project import make_project

ROUNDS = 5
COMMAND_LIMIT = 8
RUNS = 40
ROLLUP = 1_200_000  # bytes
MOST_LEFT = 1.3  # MB a run; of 100 runs, 130 MB
KEPT = 0.05  # of the bytes, when all runs but the last are removed
PROMPT = 8_000  # bytes of instructions and JSON in a call


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        lines = [*_commands(Path(scratch, "commands")), *_bytes(Path(scratch, "bytes"))]
    report("commands about runs, and bytes", lines)
    return lines


def _commands(scratch: Path) -> list[Line]:
    scratch.mkdir()
    project = make_project(scratch / "project")
    with commits(project, scratch / "home") as (command, _):
        run(command())
        quick = {
            "check": command("check", "src/answer.txt"),
            "runs list": command("runs", "list"),
            "runs show": command("runs", "show"),
        }
        others = {
            "bare": Command([sys.executable, "-c", "pass"]),
            "doctor": command("doctor"),
        }
        seconds = least_cpu({**quick, **others}, rounds=ROUNDS)
        pairs = [(cpu_of(command()), cpu_of(command("undo"))) for _ in range(ROUNDS)]
    a_run = min(seconds for seconds, _ in pairs)
    undo = min(seconds for _, seconds in pairs)
    return [
        *(
            Measured(f"{name}, CPU", seconds[name], seconds["bare"], COMMAND_LIMIT, "bare Python")
            for name in quick
        ),
        # No other tool has these: they may cost what the run costs that they are about.
        Measured("doctor, CPU", seconds["doctor"], a_run, 1, "a whole commit, as no tool has it"),
        Measured("undo, CPU", undo, a_run, 1, "a whole commit, as no tool has it"),
    ]


def _bytes(scratch: Path) -> list[Line]:
    scratch.mkdir()
    line = "{:5}    a line of code that is about as long as lines of code are\n"
    rollup = "".join(line.format(number) for number in range(ROLLUP // len(line.format(0))))
    project = make_project(scratch / "project", rollup=rollup)
    with commits(project, scratch / "home") as (command, server):
        run(command())
        sent = sum(len(request.body) for request in server.requests)
        calls = len(server.requests)
        for _ in range(RUNS - 1):
            run(command())
        left = _left(project)
        run(command("runs", "prune", "--keep", "1"))
        kept = _left(project)
    megabytes = left / MEGABYTE
    return [
        # The least is the code once a call. JSON escapes each end of a line.
        Measured(
            f"{calls} calls, bytes sent",
            sent / 1000,
            calls * (len(rollup) + rollup.count("\n") + PROMPT) / 1000,
            1.02,
            "the code, once a call",
            "kB",
        ),
        Measured(
            f"{RUNS} runs with a rollup of {ROLLUP / MEGABYTE} MB, on disk",
            megabytes,
            RUNS * MOST_LEFT,
            1,
            "130 MB for 100 runs: the rollup once each",
            "MB",
        ),
        Measured(
            "runs prune --keep 1, bytes kept",
            megabytes and kept / MEGABYTE,
            megabytes,
            KEPT,
            "all runs",
            "MB",
        ),
    ]


def _left(project: Path) -> int:
    """Return the bytes of runs and of the store, without the rollup, the query and the key."""
    state = size_on_disk(project / "agent-config/.code-commit")
    return size_on_disk(project / "logs") + state


if __name__ == "__main__":
    main()
