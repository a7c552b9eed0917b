"""The rollup of a large repository, against `cat` of the same files into one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import MEGABYTE, Command, Line, Measured, code_commit, least, report
from project import IDENTITY, make_project

FILES, FOLDERS = 10_000, 200
SIZE = 8_000  # bytes, about the size of a source file
LIMIT = 2
PEER = "git ls-files -z | xargs -0 cat >agent-config/codeRollup.txt"


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        project = _large(Path(scratch, "project"))
        seconds = least(
            {
                "peer": Command(["bash", "-c", PEER], None, lambda: _without_state(project)),
                "rollup": Command([code_commit(), "rollup"], None, lambda: _without_state(project)),
            },
            rounds=15,
        )
    name = f"{FILES:,} files, {FILES * SIZE // MEGABYTE} MB"
    lines: list[Line] = [Measured(name, seconds["rollup"], seconds["peer"], LIMIT, "git ls-files | xargs cat")]
    report("rollup of a large repository", lines)
    return lines


def _large(project: Path) -> Path:
    make_project(project)
    lines = [f"    line {number} of a file, as long as a line of code is\n" for number in range(SIZE // 50)]
    for number in range(FILES):
        path = project / f"src/{number % FOLDERS}/file_{number}.txt"
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
