"""A reply whose text is slow to match ends in the time of any other reply of its size."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("tests/test_a.py", "except "),
        pytest.param("tests/a.rs", "#[cfg_attr(", marks=pytest.mark.slow),
        pytest.param("a.test.js", "assert.", marks=pytest.mark.slow),
        pytest.param("notes.md", "... ", marks=pytest.mark.slow),
    ],
)
def test_a_megabyte_of_one_line_does_not_stop_a_run(tmp_path: Path, path: str, unit: str) -> None:
    project = Project.create(tmp_path, build="true\n")
    text = unit * (MEGABYTE // len(unit))
    settings = '[plugins.commit]\nunseen_file = "allow"\n'
    project.write({path: f"old\n{text}b\n", "agent-config/config.toml": settings})
    project.git("add", "-A")
    project.git("commit", "-qm", "a line")
    replies = [Reply(f"^^^{path}\nnew\n{text}\n^^^end\n")]
    with ScriptedServer(replies) as server:
        variables = {"OPENAI_API_KEY": "sk-canary-0123456789-key7Q", **server.environment()}
        flags = ("--model", "gpt-5", "--repairs", "0")
        finished = project.command(*flags, environ=variables, timeout=60)

    assert finished.exit_code == 0, finished.stderr
    assert project.read(path) == f"new\n{text}\n"
