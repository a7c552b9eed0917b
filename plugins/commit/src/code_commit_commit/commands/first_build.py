"""The build that `init` runs, so that a project that cannot be built is known before a call is paid for."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Host

_TIME_LIMIT = 3600.0  # seconds, the default of `build.timeout_seconds`


@dataclass(frozen=True, slots=True)
class FirstBuild:
    """How `build.sh` ended. `output` holds the last lines of its output."""

    passed: bool
    exit_code: int | None
    seconds: float
    output: str

    def document(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {"passed": self.passed, "exit_code": self.exit_code, "seconds": round(self.seconds, 3)}


def run_first_build(host: Host) -> FirstBuild:
    """Run `build.sh` as a run does, and print its result and duration on stderr.

    Raises:
        NotReady: the configuration is invalid, or asks for a sandbox that does not work here.
    """
    host.out.note("\nRunning build.sh ...")
    with (
        tempfile.TemporaryDirectory(prefix="code-commit-") as folder,
        host.workspace(processes=True, repository="optional") as workspace,
    ):
        start = time.monotonic()
        done = workspace.run_build(log=Path(folder, "build.txt"), timeout=_TIME_LIMIT)
        seconds = time.monotonic() - start
    build = FirstBuild(done.passed, done.exit_code, seconds, done.last_lines())
    if build.passed:
        host.out.note(f"build.sh passed in {build.seconds:.1f} s")
        return build
    how = f"exit code {build.exit_code}" if build.exit_code is not None else "it was killed"
    host.out.note(f"build.sh failed ({how}) after {build.seconds:.1f} s, before any change. Its last lines:")
    for line in build.output.splitlines():
        host.out.note(f"  {line.rstrip()}")
    for path in done.tampered:
        host.out.note(f"  build.sh altered {path}, which a build must not change")
    host.out.note("Fix the project or build.sh first: no change can pass this build.")
    return build
