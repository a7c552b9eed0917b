"""The build that `init` and `doctor` run, so that you learn of a broken build before you pay for a call."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Host, NotReady
from code_commit_workspace import Workspace

# The summaries of pytest and unittest when they skipped every test: both end with exit code 0.
_ALL_SKIPPED = re.compile(
    r"^=* ?(?:\d+ deselected, )?\d+ skipped(?:, \d+ (?:deselected|warnings?))* in [\d.]+s"
    r"|^Ran (\d+) tests? in .*\s+OK \(skipped=\1\)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class FirstBuild:
    """How `build.sh` ended. `output` has its last lines, `tampered` the files that it must not change but did."""

    passed: bool
    exit_code: int | None
    seconds: float
    output: str
    tampered: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        """How long it took, and how it failed, if it did."""
        if self.passed:
            skipped = ", but every test was skipped" if _ALL_SKIPPED.search(self.output) else ""
            return f"passed in {self.seconds:.1f} s{skipped}"
        how = f"exit code {self.exit_code}" if self.exit_code is not None else "it was killed"
        return f"failed ({how}) after {self.seconds:.1f} s"

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The end of its output, and what it altered, for people."""
        altered = (f"build.sh altered {path}, which builds cannot change" for path in self.tampered)
        return (*(line.rstrip() for line in self.output.splitlines()), *altered)

    def document(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {"passed": self.passed, "exit_code": self.exit_code, "seconds": round(self.seconds, 3)}


def run_first_build(host: Host, announcement: str) -> FirstBuild:
    """Print `announcement` on stderr, and run `build.sh` as a run does.

    Raises:
        NotReady: the configuration is invalid, or requires a sandbox that does not work here.
    """
    with tempfile.TemporaryDirectory(prefix="code-commit-") as folder, _workspace(host) as workspace:
        host.out.note(announcement)
        before = workspace.checkpoints.current_tree() if workspace.writes else ""
        start = time.monotonic()
        done = workspace.run_build(log=Path(folder, "build.txt"), timeout=host.build_timeout)
        seconds = time.monotonic() - start
        if before and done.passed and workspace.checkpoints.current_tree() == before:
            workspace.checkpoints.note_green(before)
    return FirstBuild(done.passed, done.exit_code, seconds, done.last_lines(), tuple(done.tampered))


def _workspace(host: Host) -> Workspace:
    """Open the project with its lock, so that a run knows of a green build; without it if something is in the way."""
    try:
        return host.workspace(processes=True, writes=True)
    except NotReady:
        return host.workspace(processes=True, repository="optional")


def print_first_build(host: Host, build: FirstBuild) -> None:
    """Print how the build ended on stderr."""
    if build.passed:
        host.out.note(f"build.sh {build.ending}")
        return
    follows = "Its last lines:" if build.last_lines else "It printed nothing."
    host.out.note(f"build.sh {build.ending}, before any change. {follows}")
    for line in build.last_lines:
        host.out.note(f"  {line}")
    host.out.note("Fix the project or build.sh first: no change can pass this build.")
