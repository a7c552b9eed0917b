"""A run takes as long for a reply of hostile text as for any other of its size."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

SIZE = 1_000_000
PLAIN = "x = 1  # a plain line\n"


def seconds(folder: Path, path: str, unit: str) -> float:
    """Return the processor time of a run that replaces a file by one long text."""
    project = Project.create(folder, build="true\n", files={path: "old\n"})
    text = unit * (SIZE // len(unit))
    with ScriptedServer([Reply(f"^^^{path}\n{text}\n^^^end\n")]) as server:
        environ = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        finished = project.command("--model=gpt-5", environ=environ, cold=True, timeout=120)
    assert finished.exit_code == 0, finished.stderr
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> float:
    return seconds(tmp_path_factory.mktemp("plain"), "tests/test_x.py", PLAIN)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("tests/test_x.py", "except "),
        ("tests/x.rs", "#[cfg_attr("),
        ("tests/x.test.js", "assert."),
        ("tests/x.rs", "asserta"),
        ("tox.ini", "mvn "),
        ("notes.md", "... "),
    ],
)
def test_no_reply_stops_the_clock(tmp_path: Path, plain: float, path: str, unit: str) -> None:
    assert seconds(tmp_path, path, unit) < 5 * plain
