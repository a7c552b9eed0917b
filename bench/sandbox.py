"""What the sandbox adds to a process that does nothing: in milliseconds, and against bubblewrap
with the same mounts.

Processor time counts, the least of many starts: other programs on the machine add to the time of a
clock. The design allows 10 ms, with the filter of system calls and the keyring. bubblewrap alone
took 7.9 ms where it was designed, and a process without it 1.2 ms.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from harness import Line, Measured, NotMeasured, report

from code_commit_workspace import NotReady, Redactor, SandboxSettings
from code_commit_workspace.process.runner import ProcessRunner

NESTED = 32
ROUNDS = 60
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
MOST = 0.010  # seconds
LIMIT = MOST / (0.0079 - 0.0012)


def main() -> list[Line]:
    """Measure and print."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    lines = [line for count in (0, NESTED) for line in _lines(count)]
    report("sandbox", lines)
    return lines


def _lines(nested: int) -> list[Line]:
    name = f"sandbox, {nested} nested repositories" if nested else "sandbox"
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        (root / "agent-config").mkdir(parents=True)
        (root / "build.sh").write_text("true\n")
        (root / ".gitignore").write_text("/agent-config\n")
        for repository in (root, *(root / f"sub{number}" for number in range(nested))):
            (repository / ".git/hooks").mkdir(parents=True)
            (repository / ".git/config").write_text("[core]\n")
        inside, outside = (
            ProcessRunner(
                root, SandboxSettings(mode), state_folder="private/state", redactor=Redactor()
            )
            for mode in ("require", "off")
        )
        try:
            inside.sandbox_in_use  # noqa: B018 - it raises
            bubblewrap = [*inside._sandbox.wrapper(), "--", "true"]  # noqa: SLF001 - the same mounts
            ours, none, peer, bare = _least(
                lambda: inside.run(["true"], log=Path(folder, "log"), timeout=60.0),
                lambda: outside.run(["true"], log=Path(folder, "log"), timeout=60.0),
                lambda: _run(bubblewrap),
                lambda: _run(["true"]),
            )
        except NotReady as error:
            return [NotMeasured(name, error.message)]
        finally:
            for runner in (inside, outside):
                runner.remove_private_folders()
    added = ours - none
    against_bubblewrap = Measured(
        name, added, peer - bare, LIMIT, "bubblewrap alone, with the same mounts"
    )
    if nested:
        return [against_bubblewrap]
    return [Measured("sandbox, added to a process", added, MOST, 1.0, "10 ms"), against_bubblewrap]


def _run(command: Sequence[str]) -> None:
    """Run `command`, and wait for the process that bubblewrap leaves behind: only then does its
    time count.
    """
    subprocess.run(command, check=True)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _least(*starts: Callable[[], object]) -> list[float]:
    """Return the least processor time of each of `starts`, which run in turn."""
    seconds: list[list[float]] = [[] for _ in starts]
    for _ in range(ROUNDS):
        for start, times in zip(starts, seconds, strict=True):
            before = _processor_time()
            start()
            times.append(_processor_time() - before)
    return [min(times) for times in seconds]


def _processor_time() -> float:
    """Return what this process and its children that have ended took, in seconds."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    main()
