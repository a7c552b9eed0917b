"""The command, run as a separate process."""

from __future__ import annotations

from pathlib import Path

from code_commit_testing import Project

FILES = {"a.py": "x = 1\n# TODO: name it\n", "b.txt": "TODO\n", "c.py": "done\n"}


def test_the_comments_are_listed(tmp_path: Path) -> None:
    finished = Project.create(tmp_path, files=FILES).command("todo", "*.py")
    assert finished.stdout == "a.py:2  # TODO: name it\n"
    assert (finished.exit_code, finished.stderr) == (1, "1 TODO comments\n")


def test_json_prints_a_document(tmp_path: Path) -> None:
    finished = Project.create(tmp_path, files={"c.py": "done\n"}).command("todo", "--json")
    assert (finished.exit_code, finished.document) == (0, {"todo": []})


def test_the_help_lists_the_command(tmp_path: Path) -> None:
    assert "list the TODO comments" in Project.create(tmp_path).command("--help").stdout
