"""Measure time and memory of whole processes against a peer or limit of the same run, and report
them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000
PEAK = Path(__file__).with_name("peak.py")


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the report: `value` must be at most `limit` times `peer`."""

    name: str
    value: float
    peer: float
    limit: float
    against: str
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Return `value` divided by `peer`."""
        return self.value / self.peer

    @property
    def ok(self) -> bool:
        """Return whether the limit is kept."""
        return self.ratio <= self.limit


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A line of the report that says why nothing was measured."""

    name: str
    reason: str


Line = Measured | NotMeasured


def report(title: str, lines: Sequence[Line]) -> None:
    """Print one line per measurement: name, measured, peer, ratio, limit, verdict."""
    print(f"\n{title}")
    print(f"  {'':44} {'measured':>10} {'peer':>10} {'ratio':>7} {'limit':>7}")
    for line in lines:
        if isinstance(line, NotMeasured):
            print(f"  {line.name:44} not measured: {line.reason}")
            continue
        value = _amount(line.value, line.unit)
        peer = _amount(line.peer, line.unit)
        verdict = "ok" if line.ok else "OVER"
        print(
            f"  {line.name:44} {value:>10} {peer:>10}"
            f" {line.ratio:>7.2f} {line.limit:>7.2f}  {verdict:4}  against {line.against}",
            flush=True,
        )


def _amount(value: float, unit: str) -> str:
    if unit == "s":
        return f"{value * 1000:.0f} ms"
    return f"{value:.2f}" if unit == "exponent" else f"{value:.0f} {unit}"


@dataclass(frozen=True, slots=True)
class Command:
    """A process to time.

    `prepare` runs before each round, untimed, and returns the folder to run in.
    """

    argv: Sequence[str]
    environment: Mapping[str, str] | None = None
    prepare: Callable[[], Path] | None = None
    exit_code: int = 0


def medians(commands: Mapping[str, Command], *, rounds: int) -> dict[str, float]:
    """Return the median wall time of each command in seconds."""
    return {name: statistics.median(times) for name, times in _times(commands, rounds).items()}


def least(commands: Mapping[str, Command], *, rounds: int) -> dict[str, float]:
    """Return the least wall time of each command in seconds: other programs on the machine only add
    to it.
    """
    return {name: min(times) for name, times in _times(commands, rounds).items()}


def median_pair(own: Sequence[float], peers: Sequence[float]) -> tuple[float, float]:
    """Return the pair with the median ratio. Both of a pair were measured one after the other."""
    return sorted(zip(own, peers, strict=True), key=lambda pair: pair[0] / pair[1])[len(own) // 2]


def _times(commands: Mapping[str, Command], rounds: int) -> dict[str, list[float]]:
    """Run the commands in turn, so that all get the same disturbances."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            seconds = run(command)
            if turn:  # the first round fills the caches
                times[name].append(seconds)
    return times


def run(command: Command) -> float:
    """Run `command` once; return its wall time in seconds.

    Raises:
        SystemExit: it did not end with `exit_code`; the time of a failed run is useless.
    """
    folder = command.prepare() if command.prepare else None
    start = time.perf_counter()
    _finish(command, command.argv, folder)
    return time.perf_counter() - start


def printed(command: Command) -> float:
    """Run `command` once; return the number on its last line: what it measured itself.

    Raises:
        SystemExit: as `run`.
    """
    return float(
        _finish(command, command.argv, command.prepare() if command.prepare else None).splitlines()[
            -1
        ]
    )


def peak_memory(command: Command) -> float:
    """Run `command` once; return its peak resident memory in MB.

    Raises:
        SystemExit: as `run`.
    """
    # Until exec, the kernel counts the parent's memory as the process's own. So a small process
    # starts it, and prints the number as its last line.
    output = _finish(
        command,
        [sys.executable, str(PEAK), *command.argv],
        command.prepare() if command.prepare else None,
    )
    return int(output.splitlines()[-1]) * 1024 / MEGABYTE


def _finish(command: Command, argv: Sequence[str], folder: Path | None) -> bytes:
    completed = subprocess.run(
        argv,
        cwd=folder,
        env={**plain_environment(), **(command.environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if completed.returncode != command.exit_code:
        sys.stderr.buffer.write(completed.stdout)
        sys.exit(f"{' '.join(argv)}: ended with {completed.returncode}, not {command.exit_code}")
    return completed.stdout


def plain_environment() -> dict[str, str]:
    """Return the environment without anything that changes a run: settings, keys, service
    addresses, proxies.
    """
    changing = (
        "CODE_COMMIT_",
        "GIT_",
        "GEMINI_",
        "GOOGLE_GEMINI_",
        "OPENAI_",
        "ANTHROPIC_",
        "PYTHON",
    )
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(changing) and not name.lower().endswith("_proxy")
    }


def code_commit() -> str:
    """Return the path of the installed command, beside this Python."""
    return str(Path(sys.executable).with_name("code-commit"))
