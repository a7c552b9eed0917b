"""Start-up: the CPU of commands that call no model, against Python that does nothing.

`--help` has all plugins, and the commands of a project those of the default installation.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from cpu import cpu_of, least_cpu
from harness import Command, Line, Measured, NotMeasured, code_commit, medians, report
from installation import WITHOUT_OTHERS
from project import MENDS, make_project
from service import answering

OTHER_DISTRIBUTIONS = 200
OF_A_PROJECT = ("check src/answer.txt", "runs list", "runs show", "plugins")


def main() -> list[Line]:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder, answering([MENDS]) as url:
        crowd = {"PYTHONPATH": str(_crowd(Path(folder, "crowd")))}
        project = make_project(Path(folder, "project"))
        home = {"HOME": folder}
        run = [code_commit(), *WITHOUT_OTHERS, "--quiet"]
        cpu_of(
            Command(
                run, home | {"GOOGLE_GEMINI_BASE_URL": url.removesuffix("/v1")}, lambda: project
            )
        )
        commands = {
            "bare": Command([sys.executable, "-c", "pass"]),
            "--version": Command([code_commit(), "--version"]),
            "bare in a crowd": Command([sys.executable, "-c", "pass"], crowd),
            "--help in a crowd": Command([code_commit(), "--help"], crowd),
        }
        for name in OF_A_PROJECT:
            argv = [code_commit(), *WITHOUT_OTHERS, *name.split()]
            commands[name] = Command(argv, home, lambda: project)
        seconds = least_cpu(commands, rounds=15)
    lines: list[Line] = [
        Measured("--version, CPU", seconds["--version"], seconds["bare"], 1.3, "bare Python"),
        Measured(
            f"--help, {OTHER_DISTRIBUTIONS} other distributions, CPU",
            seconds["--help in a crowd"],
            seconds["bare in a crowd"],
            4,
            "bare Python",
        ),
    ]
    lines += [
        Measured(f"{name}, CPU", seconds[name], seconds["bare"], 8, "bare Python")
        for name in OF_A_PROJECT
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
    folder.mkdir()
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
