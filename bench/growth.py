"""How the cost of a run grows with what should not slow it: CPU or bytes on disk, at six sizes.

Each size is twice the one before. The exponent is the slope of the cost over the size, both in
logarithms: 0 if the cost stays the same, 1 if it doubles with the size, 2 if it is quadratic. A
further row says what the largest size may cost.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from cpu import cpu_of, least_cpu
from default_installation import commits
from harness import MEGABYTE, Command, Line, Measured, peak_memory, report
from project import IDENTITY, make_project

ROUNDS = 3
DOUBLINGS = 5
FOLDER = 100  # files in it
LINEAR = 1.1
FLAT = 0.1
STATUS = Command(["git", "status", "--porcelain"])


def main() -> list[Line]:
    """Measure and print."""
    rows = {
        "past runs": _past_runs,
        "ignored files": _ignored_files,
        "files": _files,
        "keys": _keys,
        "turns of a chat": _turns,
        "build output": _build_output,
    }
    return [line for name, row in rows.items() for line in _reported(name, row)]


def _reported(name: str, row: Callable[[Path], list[Line]]) -> list[Line]:
    with tempfile.TemporaryDirectory() as scratch:
        lines = row(Path(scratch))
    report(f"growth with {name}", lines)
    return lines


def sizes(largest: int) -> list[int]:
    """Return the sizes up to `largest`, each twice the one before."""
    return [largest >> doubling for doubling in range(DOUBLINGS, -1, -1)]


def exponent(measured: Sequence[int], costs: Sequence[float]) -> float:
    """Return the slope of the line through the logarithms, by least squares."""
    points = [(math.log(size), math.log(cost)) for size, cost in zip(measured, costs, strict=True)]
    middle = sum(x for x, _ in points) / len(points)
    return sum((x - middle) * y for x, y in points) / sum((x - middle) ** 2 for x, _ in points)


def _row(name: str, measured: Sequence[int], costs: Sequence[float], limit: float) -> Line:
    against = "a cost that doubles with the size"
    return Measured(f"{name}, exponent", exponent(measured, costs), 1, limit, against, "exponent")


def _commits_at(
    scratch: Path, measured: Sequence[int], grow: Callable[[Path, int, int], None]
) -> tuple[float, list[float]]:
    """Return the CPU of a commit before anything has grown, and at each size.

    `grow` makes the project, which has the second number of things, have the third.
    """
    project = make_project(scratch / "project")
    costs = []
    with commits(project, scratch / "home") as (command, _):
        for before, size in zip([0, 0, *measured], [0, *measured], strict=False):
            grow(project, before, size)
            costs.append(least_cpu({"commit": command()}, rounds=ROUNDS)["commit"])
    return costs[0], costs[1:]


def _past_runs(scratch: Path) -> list[Line]:
    measured = sizes(5000)
    first, costs = _commits_at(scratch, measured, _add_runs)
    return [
        _row("past runs", measured, costs, FLAT),
        Measured(
            f"{measured[-1]:,} past runs, added CPU",
            costs[-1] - first,
            0.030,
            1,
            "30 ms: a run needs none of them",
        ),
    ]


def _add_runs(project: Path, before: int, size: int) -> None:
    """Copy the latest run, but for its prompts and responses, under names of earlier times."""
    if before == size:
        return
    model = max((project / "logs").glob("2*"))
    texts = {name: (model / name).read_text() for name in ("run.json", "events.jsonl")}
    for number in range(before, size):
        clock = f"{number // 3600:02}-{number // 60 % 60:02}-{number % 60:02}"
        folder = project / f"logs/2001-01-01-{clock}-committing-code"
        folder.mkdir()
        for name, text in texts.items():
            started = text.replace(model.name, folder.name)
            started = started.replace(model.name[:10], folder.name[:10])
            (folder / name).write_text(started)


def _ignored_files(scratch: Path) -> list[Line]:
    measured = sizes(100_000)
    first, costs = _commits_at(scratch, measured, _add_ignored_files)
    added = costs[-1] - first
    return [
        _row("ignored files", measured, costs, LINEAR),
        Measured(
            f"{measured[-1]:,} ignored files, added CPU",
            added,
            0.2,
            1,
            "0.2 s: one look at each file",
        ),
    ]


def _add_ignored_files(project: Path, before: int, size: int) -> None:
    _add_files(project / "target", before, size)


def _add_files(folder: Path, before: int, size: int) -> None:
    for number in range(before, size):
        parent = folder / f"{number // FOLDER}"
        if number % FOLDER == 0 or number == before:
            parent.mkdir(parents=True, exist_ok=True)
        (parent / f"file_{number}.txt").write_text(f"{number}\n")


def _files(scratch: Path) -> list[Line]:
    """One changed file in a large repository. Its rollup is small: that has a row of its own."""
    project = make_project(scratch / "project")
    measured = sizes(128_000)
    costs: list[tuple[float, float, float]] = []
    with commits(project, scratch / "home") as (command, _):
        for before, size in zip([0, *measured], measured, strict=False):
            _add_files(project / "src/many", before, size)
            subprocess.run(["git", "add", "-A"], cwd=project, check=True)
            commit = ["git", *IDENTITY, "commit", "-q", "-m", "Add files"]
            subprocess.run(commit, cwd=project, check=True)
            pairs = [(cpu_of(command()), cpu_of(command("undo"))) for _ in range(2)]
            status = min(cpu_of(Command(STATUS.argv, None, lambda: project)) for _ in range(ROUNDS))
            costs.append((min(run for run, _ in pairs), min(undo for _, undo in pairs), status))
        peak = peak_memory(command())
    runs, undos, statuses = (list(column) for column in zip(*costs, strict=True))
    name = f"one changed file of {measured[-1]:,}"
    more = "times git status + 0.3 s"
    return [
        _row("files", measured, runs, LINEAR),
        _row("files, undo", measured, undos, LINEAR),
        Measured(f"{name}, CPU", runs[-1], 5 * statuses[-1] + 0.3, 1, f"5 {more}"),
        Measured(f"{name}, undo, CPU", undos[-1], 3 * statuses[-1] + 0.3, 1, f"3 {more}"),
        Measured(f"{name}, memory", peak, 120, 1, "120 MB: no path twice", "MB"),
    ]


def _keys(scratch: Path) -> list[Line]:
    measured = sizes(800)
    first, costs = _commits_at(scratch, measured, _configure_keys)
    return [
        _row("keys", measured, costs, LINEAR),
        Measured(
            f"{measured[-1]} keys, CPU",
            costs[-1],
            first,
            1.1,
            "a run with one key, as no other tool has many",
        ),
    ]


def _configure_keys(project: Path, before: int, size: int) -> None:
    del before
    configs = [
        f'[providers.gemini.config{number}]\nmodel = "gemini-2.5-pro"\napi_key = "key-{number:010}"'
        for number in range(size)
    ]
    (project / "agent-config/config.toml").write_text("\n".join(configs))


def _turns(scratch: Path) -> list[Line]:
    measured = sizes(320)
    left, used = [], []
    for turns in measured:
        project = make_project(scratch / f"{turns}" / "project")
        lines = scratch / f"{turns}" / "lines.txt"
        lines.write_text("What does part 7 do, and which other part needs it?\n" * turns + "quit\n")
        with commits(project, scratch / f"{turns}" / "home") as (command, _):
            chat = command("--chat", also=("planner", "toolbox"))
            shell = ["bash", "-c", 'exec "$@" <"$0"', str(lines), *chat.argv]
            used.append(cpu_of(Command(shell, chat.environment, chat.prepare)))
        left.append(size_on_disk(project / "logs") + size_on_disk(project / "agent-config"))
    return [
        _row("turns of a chat, CPU", measured, used, LINEAR),
        _row("turns of a chat, bytes on disk", measured, left, LINEAR),
        Measured(
            f"a chat of {measured[-1]} turns, on disk",
            left[-1] / MEGABYTE,
            10,
            1,
            "10 MB: each text once",
            "MB",
        ),
    ]


def _build_output(scratch: Path) -> list[Line]:
    measured = sizes(64)
    _, costs = _commits_at(scratch, measured, _build_with_output)
    return [_row("MB of build output", measured, costs, LINEAR)]


def _build_with_output(project: Path, before: int, size: int) -> None:
    """Let the build print `size` MB, and be as before otherwise."""
    del before
    build = project / "build.sh"
    lines = build.read_text().splitlines()[-2:]
    output = f"yes 'a line of the output of a build, as long as most are' | head -c {size}000000"
    build.write_text("\n".join([output, *lines, ""]))


def size_on_disk(folder: Path) -> int:
    """Return what the files below `folder` take, in bytes, each file once."""
    blocks = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            found = os.lstat(Path(parent, name))
            blocks[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(blocks.values())


if __name__ == "__main__":
    main()
