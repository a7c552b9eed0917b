"""Parse, check and apply a large response, against `git apply` and a sync of the same change."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import MEGABYTE, Command, Line, Measured, median_pair, plain_environment, report, run
from project import IDENTITY, make_project

ONCE = Path(__file__).with_name("apply_once.py")
ROUNDS = 9
MANY = 1000  # files
CHANGED = 10  # the first tenth of each file, in one hunk: git is slow with many


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as scratch:
        lines: list[Line] = [
            _compare(Path(scratch, "many"), "1,000 files of 4 kB", files=MANY, size=4000),
            _compare(Path(scratch, "much"), "100 files of 1 MB", files=100, size=MEGABYTE),
        ]
    report("parse, check and apply", lines)
    return lines


def _compare(folder: Path, name: str, *, files: int, size: int) -> Line:
    project = make_project(folder / "project")
    numbers = itertools.count()

    def fresh() -> Path:
        # ext4 passes over each inode that was deleted in the last minute, so removing many here
        # would slow both ways.
        if files < MANY:
            shutil.rmtree(folder / "copy", ignore_errors=True)
            return _copy(project, folder / "copy")
        return _copy(project, folder / f"copy-{next(numbers)}")

    _prepare(project, folder, files, size)
    git = Command(["bash", "-c", f"git apply '{folder}/change.patch' && sync -f ."], None, fresh)
    ways = [lambda: _time_inside(fresh(), folder / "response.txt"), lambda: run(git)]
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS):
        # What one leaves to the disk slows neither more often.
        for way in (0, 1) if turn % 2 else (1, 0):
            times[way].append(ways[way]())
    # The median of pairs: the disk's speed changes from minute to minute, and both of a pair meet
    # the same.
    return Measured(name, *median_pair(*times), 2, "git apply, sync")


def _prepare(project: Path, folder: Path, files: int, size: int) -> None:
    """Add files to the project; write beside it a response that changes each file, and the same
    change as a patch.
    """
    with (folder / "response.txt").open("w") as response:
        for number in range(files):
            path = project / f"data/{number % 10}/file_{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [
                f"line {n} of file {number}, as it was before anybody changed it\n"
                for n in range(size // 60)
            ]
            path.write_text("".join(lines))
            tenth = len(lines) // CHANGED
            lines[:tenth] = [f"line {n} of file {number}, changed\n" for n in range(tenth)]
            response.write(f"^^^data/{number % 10}/file_{number}.txt\n{''.join(lines)}^^^end\n")
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "-q", "-m", "Add data"], cwd=project, check=True)

    changed = _copy(project, folder / "changed")
    _time_inside(changed, folder / "response.txt")
    with (folder / "change.patch").open("wb") as patch:
        subprocess.run(["git", "diff"], cwd=changed, check=True, stdout=patch)


def _copy(project: Path, copy: Path) -> Path:
    """Make a copy and flush it to disk."""
    shutil.copytree(project, copy, symlinks=True)
    os.sync()
    return copy


def _time_inside(project: Path, response: Path) -> float:
    """Run the three steps in a separate process; return their time, without the start of the
    process.
    """
    command = [sys.executable, str(ONCE), str(project), str(response)]
    completed = subprocess.run(
        command, env=plain_environment(), check=True, stdout=subprocess.PIPE, text=True
    )
    return float(completed.stdout)


if __name__ == "__main__":
    main()
