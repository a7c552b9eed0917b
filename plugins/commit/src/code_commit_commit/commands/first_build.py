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

from code_commit.plugin_api import Host, NotReady
from code_commit_commit.inputs import require_build
from code_commit_workspace import Workspace

# The summaries of pytest and unittest when they skipped every test: both end with exit code 0.
_ALL_SKIPPED = re.compile(
    r"^=* ?(?:\d+ deselected, )?\d+ skipped(?:, \d+ (?:deselected|warnings?))* in [\d.]+s"
    r"|^Ran (\d+) tests? in .*\s+OK \(skipped=\1\)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class FirstBuild:
    """How `build.sh` ended.

    `interpreter` ran it, `typed` is the command for people, `how` describes its end and when.
    `output` has its last lines, `tampered` the files that it must not change but did.
    """

    interpreter: str
    typed: str
    passed: bool
    how: str
    exit_code: int | None
    seconds: float
    output: str
    tampered: tuple[str, ...] = ()

    @property
    def ending(self) -> str:
        """How it ended, how long it took, and what ran it."""
        by = f"(interpreter: {self.interpreter})"
        if self.passed:
            skipped = ", but every test was skipped" if _ALL_SKIPPED.search(self.output) else ""
            return f"passed in {self.seconds:.1f} s{skipped} {by}"
        return f"{self.how} {by}"

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The end of its output, and what it altered, for people."""
        altered = (f"build.sh altered {path}, which builds cannot change" for path in self.tampered)
        return (*(line.rstrip() for line in self.output.splitlines()), *altered)

    def document(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {
            "passed": self.passed,
            "exit_code": self.exit_code,
            "seconds": round(self.seconds, 3),
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
        _workspace(host) as workspace,
    ):
        command = require_build(workspace)
        host.out.note(announcement)
        before = workspace.checkpoints.current_tree() if workspace.writes else ""
        start = time.monotonic()
        build = workspace.run_build(log=Path(folder, "build.txt"), timeout=host.build_timeout)
        seconds = time.monotonic() - start
        if before and build.passed and workspace.checkpoints.current_tree() == before:
            workspace.checkpoints.note_green(before)
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
        output=build.last_lines(),
        tampered=build.tampered,
    )


def interpreter_of(command: Sequence[str]) -> str:
    """Return what runs `build.sh` according to its command line, for people."""
    return " ".join(command[:-1])


def _typed(root: Path, command: Sequence[str]) -> str:
    """Return what people type to run `build.sh` as a run does."""
    if command[0] != "bash" and os.access(root / "build.sh", os.X_OK):
        return "./build.sh"
    return shlex.join(command)


def _workspace(host: Host) -> Workspace:
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
