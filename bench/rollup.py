"""The rollup of large repositories, against `cat` of the same files into one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import MEGABYTE, Command, Line, Measured, code_commit, least, report
from project import IDENTITY, make_project

SIZE = 8_000  # bytes, about the size of a source file
FOLDER = 50  # files in it
# Files, the most that the ratio may be, and rounds. The start of Python is a third of the time for
# 10,000 files.
PROJECTS = [(10_000, 3, 15), (60_000, 2, 8)]
PEER = "git ls-files -z | xargs -0 cat >agent-config/codeRollup.txt"


def main() -> list[Line]:
    """Measure and print."""
    lines = [_line(*project) for project in PROJECTS]
    report("rollup of a large repository", lines)
    return lines


def _line(files: int, limit: float, rounds: int) -> Line:
    with tempfile.TemporaryDirectory() as scratch:
        project = _large(Path(scratch, "project"), files)
        seconds = least(
            {
                "peer": Command(["bash", "-c", PEER], None, lambda: _without_state(project)),
                "rollup": Command([code_commit(), "rollup"], None, lambda: _without_state(project)),
            },
            rounds=rounds,
        )
    name = f"{files:,} files, {files * SIZE // MEGABYTE} MB"
    return Measured(name, seconds["rollup"], seconds["peer"], limit, "git ls-files | xargs cat")


def _large(project: Path, files: int) -> Path:
    make_project(project)
    lines = [
        f"    line {number} of a file, as long as a line of code is\n"
        for number in range(SIZE // 50)
    ]
    for number in range(files):
        path = project / f"src/{number // FOLDER}/file_{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n{''.join(lines)}"[:SIZE])
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "-q", "-m", "Add code"], cwd=project, check=True)
    return project


def _without_state(project: Path) -> Path:
    """Drop the rollup and the manifest of the previous round."""
    (project / "agent-config/codeRollup.txt").unlink(missing_ok=True)
    shutil.rmtree(project / "agent-config/.code-commit", ignore_errors=True)
    return project


if __name__ == "__main__":
    main()
