"""The rollup of a large repository, against Python that only reads the same files."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import MEGABYTE, Command, Line, Measured, code_commit, medians, report
from project import IDENTITY, make_project

FILES, FOLDERS = 10_000, 200
SIZE = 8_000  # bytes, about the size of a source file
LIMIT = 3
READ = "import sys\nfor path in sys.stdin.buffer.read().split(b'\\0')[:-1]:\n  with open(path, 'rb') as f: f.read()"


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        project = _large(Path(scratch, "project"))
        reading = f"git ls-files -z | '{sys.executable}' -c \"$READ\""
        seconds = medians(
            {
                "reading": Command(["bash", "-c", reading], {"READ": READ}, lambda: project),
                "rollup": Command([code_commit(), "rollup"], None, lambda: _without_state(project)),
            },
            rounds=5,
        )
    name = f"{FILES:,} files, {FILES * SIZE // MEGABYTE} MB"
    lines: list[Line] = [Measured(name, seconds["rollup"], seconds["reading"], LIMIT, "git ls-files, reading them")]
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
