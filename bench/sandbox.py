"""What the sandbox adds to a process that does nothing, and what nested repositories add to that.

The least of many times counts, because the limits are absolute: other programs on the machine only add to a time.
"""

from __future__ import annotations

import tempfile
import time
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
            least = dict.fromkeys(runners, float("inf"))
            for _ in range(ROUNDS):
                for mode, runner in runners.items():
                    start = time.perf_counter()
                    runner.run(["true"], log=Path(folder, "log"), timeout=60.0)
                    least[mode] = min(least[mode], time.perf_counter() - start)
        except NotReady as error:
            return NotMeasured(name, error.message)
        finally:
            for runner in runners.values():
                runner.remove_private_folders()
    return Measured(name, least["require"] - least["off"], limit, 1.0, "its limit, beside a process without")


if __name__ == "__main__":
    main()
