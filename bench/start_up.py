"""Start-up: the CPU of commands that call no model, against Python that does nothing.

`--help` has all plugins, `plugins` those of the default installation.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from cpu import least_cpu
from default_installation import own_command
from harness import Command, Line, Measured, NotMeasured, code_commit, medians, report

OTHER_DISTRIBUTIONS = 200


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        crowd = {"PYTHONPATH": str(_crowd(Path(folder)))}
        bare = [sys.executable, "-c", "pass"]
        seconds = least_cpu(
            {
                "bare": Command(bare),
                "--version": Command([code_commit(), "--version"]),
                "plugins": Command([*own_command(), "plugins"]),
                "bare in a crowd": Command(bare, crowd),
                "--help in a crowd": Command([code_commit(), "--help"], crowd),
            },
            rounds=20,
        )
    lines: list[Line] = [
        Measured("--version, CPU", seconds["--version"], seconds["bare"], 1.3, "bare Python"),
        Measured("plugins, CPU", seconds["plugins"], seconds["bare"], 8, "bare Python"),
        Measured(
            f"--help, {OTHER_DISTRIBUTIONS} other distributions, CPU",
            seconds["--help in a crowd"],
            seconds["bare in a crowd"],
            4,
            "bare Python",
        ),
    ]
    lines.append(_against_llm())
    report("start-up", lines)
    return lines


def _against_llm() -> Line:
    llm = shutil.which("llm")
    if llm is None:
        return NotMeasured("--help", "llm is not on PATH")
    seconds = medians(
        {"ours": Command([code_commit(), "--help"]), "llm": Command([llm, "--help"])}, rounds=5
    )
    return Measured("--help", seconds["ours"], seconds["llm"], 0.5, "llm")


def _crowd(folder: Path) -> Path:
    """Create unrelated distributions; every fourth has entry points."""
    for number in range(OTHER_DISTRIBUTIONS):
        name = f"bystander-{number}"
        information = folder / f"bystander_{number}-1.0.dist-info"
        information.mkdir()
        description = "A line of the description, as long as lines of descriptions are.\n" * 100
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n{description}"
        )
        (information / "RECORD").write_text(
            "".join(f"bystander_{number}/{n}.py,,\n" for n in range(100))
        )
        if number % 4 == 0:
            (information / "entry_points.txt").write_text(
                f"[console_scripts]\n{name} = bystander_{number}:main\n"
            )
    return folder


if __name__ == "__main__":
    main()
