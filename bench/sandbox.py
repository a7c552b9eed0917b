"""What the sandbox adds to a process that does nothing, and what nested repositories add to that.

Processor time counts: the limits are absolute, and other programs on the machine add to the time of a clock.
"""

from __future__ import annotations

import resource
import statistics
import tempfile
from pathlib import Path
from typing import Literal

from harness import Line, Measured, NotMeasured, report

from code_commit_workspace import NotReady, Redactor, SandboxSettings
from code_commit_workspace.process.runner import ProcessRunner

NESTED = 32
ROUNDS = 60
LIMITS = {0: 0.010, NESTED: 0.030}  # seconds more than without the sandbox


def main() -> list[Line]:
    """Measure and print."""
    lines = [_line(count, limit) for count, limit in LIMITS.items()]
    report("sandbox", lines)
    return lines


def _line(nested: int, limit: float) -> Line:
    name = f"sandbox, {nested} nested repositories" if nested else "sandbox"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        (root / "agent-config").mkdir(parents=True)
        (root / "build.sh").write_text("true\n")
        (root / ".gitignore").write_text("/agent-config\n")
        for each in (root, *(root / f"sub{number}" for number in range(nested))):
            (each / ".git/hooks").mkdir(parents=True)
            (each / ".git/config").write_text("[core]\n")
        modes: tuple[Literal["require", "off"], ...] = ("require", "off")
        runners = {mode: ProcessRunner(root, SandboxSettings(mode), redactor=Redactor()) for mode in modes}
        try:
            taken: dict[str, list[float]] = {mode: [] for mode in runners}
            for _ in range(ROUNDS):
                for mode, runner in runners.items():
                    start = _processor_time()
                    runner.run(["true"], log=Path(folder, "log"), timeout=60.0)
                    taken[mode].append(_processor_time() - start)
        except NotReady as error:
            return NotMeasured(name, error.message)
        finally:
            for runner in runners.values():
                runner.remove_private_folders()
    more = statistics.median(taken["require"]) - statistics.median(taken["off"])
    return Measured(name, more, limit, 1.0, "its limit, beside a process without")


def _processor_time() -> float:
    """Return what this process and its children that have ended took, in seconds."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    main()
