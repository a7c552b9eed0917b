"""A whole commit: two model calls and two builds that take no time, against a loop that does the job naively."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import Command, Line, Measured, NotMeasured, code_commit, medians, report
from project import BREAKS, MENDS, fresh_copies, make_project
from service import answering

NAIVE = Path(__file__).with_name("naive_commit.py")
ROUNDS = 15


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch, answering([BREAKS, MENDS]) as url:
        copies = fresh_copies(make_project(Path(scratch, "project")), Path(scratch, "copies"))
        seconds = medians(
            {
                "naive": Command([sys.executable, str(NAIVE)], {"NAIVE_BASE_URL": url}, copies),
                "commit": Command([code_commit(), "--model", "gpt-5"], {"OPENAI_BASE_URL": url}, copies),
            },
            rounds=ROUNDS,
        )
        lines = [
            Measured("two calls, two builds", seconds["commit"], seconds["naive"], 1.25, "a naive loop"),
            _against_aider(seconds["commit"], Path(scratch, "aider"), copies),
        ]
    report("a whole commit", lines)
    return lines


def _against_aider(seconds: float, home: Path, copies: Callable[[], Path]) -> Line:
    name = "the same job, done by aider"
    aider = shutil.which("aider")
    if aider is None:
        return NotMeasured(name, "aider is not on PATH")
    home.mkdir()
    with answering(["src/answer.txt\n```\nwrong\n```\n", "src/answer.txt\n```\nright\n```\n"]) as url:
        service = ["--model", "openai/gpt-5", "--openai-api-base", url, "--openai-api-key", "bench-key-0123456789"]
        quiet = ["--yes-always", "--no-check-update", "--no-show-release-notes"]
        alike = ["--edit-format", "whole", "--no-stream", "--no-auto-commits"]
        task = ["--auto-test", "--test-cmd", "bash build.sh", "--message", "Give the right answer.", "src/answer.txt"]
        command = Command([aider, *service, *quiet, *alike, *task], {"HOME": str(home)}, copies)
        peer = medians({"aider": command}, rounds=3)["aider"]
    return Measured(name, seconds, peer, 1 / 25, "aider")


if __name__ == "__main__":
    main()
