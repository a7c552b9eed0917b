"""Peak memory of whole runs: 60 MB for a small one, four times the larger of prompt and response for a large one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness import MEGABYTE, Command, Line, Measured, code_commit, report, run
from project import BREAKS, MENDS, fresh_copies, make_project
from service import answering

SMALL = 60.0  # MB
LARGE = 50  # MB
LINE = "A line of code, no shorter and no longer than most lines of code in most projects are.\n"


def main() -> list[Line]:
    """Measure and print."""
    much = LINE * (LARGE * MEGABYTE // len(LINE))
    with tempfile.TemporaryDirectory() as scratch:
        lines: list[Line] = [
            Measured("a small run", _peak(Path(scratch, "small"), [BREAKS, MENDS]), SMALL, 1, "60 MB", "MB"),
            Measured(
                f"a prompt of {LARGE} MB",
                _peak(Path(scratch, "prompt"), [BREAKS, MENDS], rollup=much),
                LARGE,
                4,
                "the prompt",
                "MB",
            ),
            Measured(
                f"a response of {LARGE} MB",
                _peak(Path(scratch, "response"), [f"{MENDS}^^^src/much.txt\n{much}^^^end\n"]),
                LARGE,
                4,
                "the response",
                "MB",
            ),
        ]
    report("memory", lines)
    return lines


def _peak(folder: Path, answers: list[str], rollup: str = "") -> float:
    project = make_project(folder / "project", rollup=rollup or "src/answer.txt: none\n")
    with answering(answers) as url:
        command = [code_commit(), "--model", "gpt-5"]
        _, peak = run(Command(command, {"OPENAI_BASE_URL": url}, fresh_copies(project, folder / "copies")))
    return peak


if __name__ == "__main__":
    main()
