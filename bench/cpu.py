"""Measure the CPU of whole processes: user and system time of a command and all its descendants."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from harness import Command, plain_environment


def least_cpu(commands: Mapping[str, Command], *, rounds: int) -> dict[str, float]:
    """Return the least CPU time of each command in seconds: other programs only add to it.

    The commands run in turn, so that all get the same disturbances.

    Raises:
        SystemExit: a command did not end with its `exit_code`.
    """
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            used = cpu_of(command)
            if turn:  # the first round fills the caches
                seconds[name].append(used)
    return {name: min(used) for name, used in seconds.items()}


def cpu_of(command: Command) -> float:
    """Run `command` once; return its CPU time in seconds.

    Raises:
        SystemExit: it did not end with its `exit_code`; the time of a failed run is useless.
    """
    folder = command.prepare() if command.prepare else None
    with subprocess.Popen(
        command.argv,
        cwd=folder,
        env={**plain_environment(), **(command.environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        output = process.stdout.read() if process.stdout else b""
        # Of this process and its children alone, unlike `resource.getrusage`.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != command.exit_code:
        sys.stderr.buffer.write(output)
        sys.exit(
            f"{' '.join(command.argv)}: ended with {process.returncode}, not {command.exit_code}"
        )
    return usage.ru_utime + usage.ru_stime
