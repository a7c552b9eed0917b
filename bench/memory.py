"""Peak memory of whole runs: 60 MB for a small one, plus four times the larger of prompt and
response.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness import MEGABYTE, Command, Line, Measured, code_commit, peak_memory, report
from project import BREAKS, MENDS, fresh_copies, make_project
from service import answering

SMALL = 60.0  # MB
LARGE = 50  # MB
LIMIT = SMALL + 4 * LARGE
SHOWN = "--- src/answer.txt ---\nnone\n"  # else a change of it is refused
LINE = "A line of code, no shorter and no longer than most lines of code in most projects are.\n"


def main() -> list[Line]:
    """Measure and print."""
    much = LINE * (LARGE * MEGABYTE // len(LINE))
    long_answer = f"{MENDS}^^^src/much.txt\n{much}^^^end\n"
    with tempfile.TemporaryDirectory() as scratch:
        small = _peak(Path(scratch, "small"), [BREAKS, MENDS])
        prompt = _peak(Path(scratch, "prompt"), [BREAKS, MENDS], rollup=SHOWN + much)
        response = _peak(Path(scratch, "response"), [long_answer])
    lines: list[Line] = [
        Measured("a small run", small, SMALL, 1, "60 MB", "MB"),
        Measured(f"a prompt of {LARGE} MB", prompt, LIMIT, 1, "60 MB and 4 times the prompt", "MB"),
        Measured(
            f"a response of {LARGE} MB", response, LIMIT, 1, "60 MB and 4 times the response", "MB"
        ),
    ]
    report("memory", lines)
    return lines


def _peak(folder: Path, answers: list[str], rollup: str = SHOWN) -> float:
    project = make_project(folder / "project", rollup=rollup)
    with answering(answers) as url:
        command = [code_commit(), "--model", "openai/large"]  # nobody knows its window
        return peak_memory(
            Command(command, {"OPENAI_BASE_URL": url}, fresh_copies(project, folder / "copies"))
        )


if __name__ == "__main__":
    main()
