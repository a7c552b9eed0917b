"""A whole commit with two model calls and two builds that take no time, against a naive loop.

The page of a run is measured separately: with the plugin installed, each run writes one. Its price
list and templates load while the model works, which matters if the model takes a quarter of a
second.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness import Command, Line, Measured, NotMeasured, code_commit, medians, report
from project import BREAKS, MENDS, fresh_copies, make_project
from service import answering

NAIVE = Path(__file__).with_name("naive_commit.py")
ROUNDS = 15
HAS_PAGES = importlib.util.find_spec("code_commit_report") is not None
WITHOUT_PAGE = ("--disable-plugin", "html") if HAS_PAGES else ()


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch, answering([BREAKS, MENDS]) as url:
        copies = fresh_copies(make_project(Path(scratch, "project")), Path(scratch, "copies"))
        commit = [code_commit(), "--model", "gpt-5"]
        seconds = medians(
            {
                "naive": Command([sys.executable, str(NAIVE)], {"NAIVE_BASE_URL": url}, copies),
                "commit": Command([*commit, *WITHOUT_PAGE], {"OPENAI_BASE_URL": url}, copies),
            },
            rounds=ROUNDS,
        )
        lines = [
            Measured(
                "two calls, two builds", seconds["commit"], seconds["naive"], 1.25, "a naive loop"
            ),
            _page(commit, copies),
            _against_aider(seconds, Path(scratch, "aider"), copies),
        ]
    report("a whole commit", lines)
    return lines


def _page(commit: Sequence[str], copies: Callable[[], Path]) -> Line:
    name = "a page of the run, answers after 250 ms"
    if not HAS_PAGES:
        return NotMeasured(name, "code-commit-report is not installed")
    with answering([BREAKS, MENDS], after=0.25) as url:
        service = {"OPENAI_BASE_URL": url}
        seconds = medians(
            {
                "page": Command(commit, service, copies),
                "none": Command([*commit, *WITHOUT_PAGE], service, copies),
            },
            rounds=ROUNDS,
        )
    return Measured(name, seconds["page"], seconds["none"], 1.25, "the same run without")


def _against_aider(seconds: Mapping[str, float], home: Path, copies: Callable[[], Path]) -> Line:
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
        command = Command([aider, *service, *quiet, *alike, *task], {"HOME": str(home)}, copies)
        peer = medians({"aider": command}, rounds=3)["aider"]
    return Measured(name, seconds["commit"], peer, 0.5, "aider")


if __name__ == "__main__":
    main()
