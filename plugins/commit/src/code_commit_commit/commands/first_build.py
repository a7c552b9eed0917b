"""The build that `init` and `doctor` run.

So you learn of a broken build before you pay for a call.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Host, NotReady, count_of
from code_commit_commit.commands.test_counts import count_tests
from code_commit_commit.inputs import require_build
from code_commit_workspace import Workspace

# The summaries of pytest and unittest when they skipped every test: both end with exit code 0.
_ALL_SKIPPED = re.compile(
    r"^=* ?(?:\d+ deselected, )?\d+ skipped(?:, \d+ (?:deselected|warnings?))* in [\d.]+s"
    r"|^Ran (\d+) tests? in .*+\s++OK \(skipped=\1\)",
    re.MULTILINE,
)

_MOST_READ = 4 << 20  # bytes of the output


@dataclass(frozen=True, slots=True)
class FirstBuild:
    """How `build.sh` ended.

    `interpreter` ran it, `typed` is the command for people, `how` describes its end and when.
    `output` is what it printed, `last_lines` the end of that and what it altered. `tests` is how
    many tests ran, None if the output does not say.
    """

    interpreter: str
    typed: str
    passed: bool
    how: str
    exit_code: int | None
    seconds: float
    output: str
    last_lines: tuple[str, ...]
    tests: int | None = None

    @property
    def ending(self) -> str:
        """How it ended, how long it took, and what ran it."""
        by = f"(interpreter: {self.interpreter})"
        if not self.passed:
            return f"{self.how} {by}"
        took = f"in {self.seconds:.1f} s"
        if _ALL_SKIPPED.search(self.output):
            return f"passed {took}, but every test was skipped {by}"
        if self.tests is None:
            return f"passed {took} {by}"
        if self.tests == 0:
            return f"passed {took}, but nothing is tested {by}"
        return f"passed: {count_of(self.tests, 'test')} {took} {by}"

    def document(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {
            "passed": self.passed,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 3),
            "tests": self.tests,
            "interpreter": self.interpreter,
        }


def run_first_build(host: Host, announcement: str) -> FirstBuild:
    """Print `announcement` on stderr, and run `build.sh` as a run does.

    Raises:
        NotReady: the configuration is invalid, or requires a sandbox that does not work here; or
            build.sh cannot run.
    """
    with (
        tempfile.TemporaryDirectory(prefix="code-commit-") as folder,
        open_for_builds(host) as workspace,
    ):
        command = require_build(workspace)
        host.out.note(announcement)
        look = workspace.store.look() if workspace.writes else None
        start = time.monotonic()
        log = Path(folder, "build.txt")
        build = workspace.run_build(log=log, timeout=host.build_timeout)
        seconds = time.monotonic() - start
        if look and workspace.store.look().tree == look.tree:
            workspace.store.builds.add(look.tree, passed=build.passed)
        output = _end_of(log)
    altered = (f"build.sh altered {path}, which builds cannot change" for path in build.tampered)
    ending = build.ending
    if not build.timed_out:
        ending += f" after {seconds:.1f} s"
    return FirstBuild(
        interpreter=interpreter_of(command),
        typed=_typed(host.root, command),
        passed=build.passed,
        how=ending,
        exit_code=build.exit_code,
        seconds=seconds,
        output=output,
        last_lines=(*(line.rstrip() for line in build.last_lines().splitlines()), *altered),
        tests=count_tests(output),
    )


def _end_of(log: Path) -> str:
    """Return what the build printed; of a very long output, the end."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _MOST_READ))
        return file.read().decode("utf-8", "replace")


def interpreter_of(command: Sequence[str]) -> str:
    """Return what runs `build.sh` according to its command line, for people."""
    return " ".join(command[:-1])


def _typed(root: Path, command: Sequence[str]) -> str:
    """Return what people type to run `build.sh` as a run does."""
    if command[0] != "bash" and os.access(root / "build.sh", os.X_OK):
        return "./build.sh"
    return shlex.join(command)


def open_for_builds(host: Host) -> Workspace:
    """Open the project with its lock, so that a run knows of a green build.

    Open it without the lock if something is in the way.
    """
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
