"""The small project of the benchmarks: a git repository with a build that takes no time."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

BREAKS = "Here is the change.\n\n^^^src/answer.txt\nwrong\n^^^end\n"
MENDS = (
    "I see.\n\n^^^src/answer.txt\nright\n^^^end\n"
    "^^^src/notes/reason.txt\nSince it was asked for.\n^^^end\n"
)

IDENTITY = ("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid")
BUILD = """\
read -r answer < src/answer.txt
if [ "$answer" = right ]; then echo fine; else echo "the answer is $answer" >&2; exit 1; fi
"""


def make_project(folder: Path, *, rollup: str = "--- src/answer.txt ---\nnone\n") -> Path:
    """Create and commit the project in `folder`, with a query, a rollup and keys."""
    files = {
        ".gitignore": "/agent-config\n/target\n",
        "build.sh": BUILD,
        "src/answer.txt": "none\n",
        "agent-config/query.txt": "Give the right answer.\n",
        "agent-config/codeRollup.txt": rollup,
        "agent-config/gemini-key.txt": "bench-key-0123456789\n",
        "agent-config/openai-key.txt": "bench-key-0123456789\n",
        **{f"src/part_{number}.txt": f"part {number}\n" * 50 for number in range(30)},
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    for arguments in (["init", "-q"], ["add", "-A"], [*IDENTITY, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def restored(project: Path) -> Path:
    """Take back what `BREAKS` and `MENDS` write: the rollup shows the files before it."""
    (project / "src/answer.txt").write_text("none\n")
    shutil.rmtree(project / "src/notes", ignore_errors=True)
    return project


def fresh_copies(project: Path, below: Path) -> Callable[[], Path]:
    """Return a function that makes a new copy of `project` at each call, and drops the previous
    one.
    """
    numbers = itertools.count()

    def copy() -> Path:
        number = next(numbers)
        shutil.rmtree(below / str(number - 1), ignore_errors=True)
        return shutil.copytree(project, below / str(number), symlinks=True)

    return copy
