"""A whole commit with two model calls and two builds that take no time, in the default installation
(`[gemini,report]`).

The peer is a loop of the standard library that does the same, and where they are installed, other
agents. CPU is that of a process and all its descendants.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from cpu import least_cpu
from default_installation import own_command
from harness import Command, Line, Measured, NotMeasured, medians, report
from project import BREAKS, MENDS, fresh_copies, make_project
from service import answering

STDLIB = Path(__file__).with_name("stdlib_commit.py")
ROUNDS = 10


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch, answering([BREAKS, MENDS]) as url:
        copies = fresh_copies(make_project(Path(scratch, "project")), Path(scratch, "copies"))
        service = {"GOOGLE_GEMINI_BASE_URL": url.removesuffix("/v1"), "HOME": scratch}
        commit = Command(own_command(), service, copies)
        seconds = least_cpu(
            {
                "stdlib": Command([sys.executable, str(STDLIB)], service, copies),
                "commit": commit,
                "no page": Command([*commit.argv, "--disable-plugin", "html"], service, copies),
            },
            rounds=ROUNDS,
        )
        against = "a loop of the standard library"
        lines: list[Line] = [
            Measured(f"{name}, CPU", seconds[key], seconds["stdlib"], 6, against)
            for name, key in (("two calls, two builds", "commit"), ("without a page", "no page"))
        ]
        lines += [
            NotMeasured("the same job, done by codex exec", "`make peers` does"),
            _against_aider(commit, Path(scratch, "aider"), copies),
        ]
    report("a whole commit", lines)
    return lines


def _against_aider(commit: Command, home: Path, copies: Callable[[], Path]) -> Line:
    name = "the same job, done by aider"
    aider = shutil.which("aider")
    if aider is None:
        return NotMeasured(name, "aider is not on PATH")
    home.mkdir()
    with answering(
        ["src/answer.txt\n```\nwrong\n```\n", "src/answer.txt\n```\nright\n```\n"]
    ) as url:
        service = [
            "--model",
            "openai/gpt-5",
            "--openai-api-base",
            url,
            "--openai-api-key",
            "bench-key-0123456789",
        ]
        quiet = ["--yes-always", "--no-check-update", "--no-show-release-notes"]
        alike = ["--edit-format", "whole", "--no-stream", "--no-auto-commits"]
        task = [
            "--auto-test",
            "--test-cmd",
            "bash build.sh",
            "--message",
            "Give the right answer.",
            "src/answer.txt",
        ]
        peer = Command([aider, *service, *quiet, *alike, *task], {"HOME": str(home)}, copies)
        seconds = medians({"aider": peer, "commit": commit}, rounds=3)
    return Measured(name, seconds["commit"], seconds["aider"], 0.5, "aider")


if __name__ == "__main__":
    main()
