"""A response with many files or folders costs time in proportion to their number, from the reply to
the report.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

FEW, MANY = 1000, 4000
FEW_CHECKED, MANY_CHECKED = 4000, 32000
SHAPES = pytest.mark.parametrize(
    "path",
    [
        lambda number: f"d{number // 500}/f{number}.txt",
        lambda number: f"g/d{number}/f.txt",
        "f{}.txt".format,
    ],
    ids=["files", "folders", "one folder"],
)


def seconds(folder: Path, count: int, path: Callable[[int], str], *flags: str) -> float:
    """Return the processor time of a run that writes `count` files; with a dry run, without the
    system's.
    """
    project = Project.create(folder, build="true\n")
    response = "".join(f"^^^{path(number)}\nx{number}\n^^^end\n" for number in range(count))
    with ScriptedServer([Reply(response)]) as server:
        environ = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        environ["CODE_COMMIT_MAX_FILES"] = str(2 * MANY_CHECKED)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        finished = project.command("--model=gpt-5", *flags, environ=environ, cold=True, timeout=280)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert finished.exit_code == 0, finished.stderr
    assert f"{count:,} file" in finished.stdout + finished.stderr
    return after.ru_utime - before.ru_utime + (0 if flags else after.ru_stime - before.ru_stime)


@pytest.mark.slow
@SHAPES
def test_time_grows_with_the_number_of_files(tmp_path: Path, path: Callable[[int], str]) -> None:
    start, few, many = (seconds(tmp_path / str(count), count, path) for count in (1, FEW, MANY))
    factor = (many - start) / (few - start)
    assert factor < 2 * MANY / FEW, f"{start:.2f} s, {few:.2f} s, {many:.2f} s"


@pytest.mark.slow
@SHAPES
def test_no_check_searches_all_files_for_each_file(
    tmp_path: Path, path: Callable[[int], str]
) -> None:
    """One search in a list of all paths, for each path, doubles the factor."""
    factors = []
    for attempt in range(3):  # a busy machine may make one of them dear
        counts = (1, FEW_CHECKED, MANY_CHECKED)
        start, few, many = (
            seconds(tmp_path / f"{attempt}-{count}", count, path, "--dry-run") for count in counts
        )
        factors.append((many - start) / (few - start))
        if factors[-1] < 1.5 * MANY_CHECKED / FEW_CHECKED:
            return
    pytest.fail(f"{factors} times the time for {MANY_CHECKED // FEW_CHECKED} times the files")
