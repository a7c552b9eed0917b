"""The command, run as a process of its own."""

from __future__ import annotations

from pathlib import Path

from code_commit_testing import Project

FILES = {"a.py": "x = 1\n# TODO: name it\n", "b.txt": "TODO\n", "c.py": "done\n"}


def test_the_comments_are_listed(tmp_path: Path) -> None:
    finished = Project.create(tmp_path, files=FILES).command("todo", "*.py")
    assert finished.stdout == "a.py:2  # TODO: name it\n"
    assert (finished.exit_code, finished.stderr) == (1, "1 TODO comments\n")


def test_programs_get_a_document(tmp_path: Path) -> None:
    finished = Project.create(tmp_path, files={"c.py": "done\n"}).command("todo", "--json")
    assert (finished.exit_code, finished.document) == (0, {"todo": []})


def test_it_is_in_the_help(tmp_path: Path) -> None:
    assert "list the TODO comments" in Project.create(tmp_path).command("--help").stdout
