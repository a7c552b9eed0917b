"""The man page says what the help of the commands says, and `man` shows it without warnings."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "core/man/code-commit.1"


def words(page: str) -> list[str]:
    """Return the words of a page: the rest depends on the version of docutils."""
    lines = [line for line in page.splitlines() if not line.startswith((".", "\\$", "level", "-"))]
    return re.findall(r"[\w.|/-]+", re.sub(r"\\f[BIP]|\\([(]aq)?", "", " ".join(lines)))


def test_the_page_is_up_to_date() -> None:
    pytest.importorskip(
        "sphinx", reason="Sphinx builds the man page; the environment `site` has it"
    )
    spec = importlib.util.spec_from_file_location("man", ROOT / "docs/site/man.py")
    assert spec is not None
    assert spec.loader is not None
    man = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(man)
    assert words(PAGE.read_text("utf-8")) == words(man.man_page()), "run `python docs/site/man.py`"


def test_the_page_has_every_command_and_exit_code() -> None:
    text = PAGE.read_text("utf-8").replace("\\-", "-")
    for part in (
        "code-commit doctor",
        "code-commit undo [RUN]",
        "--query",
        "--sandbox",
        "fB130",
        "EXIT STATUS",
    ):
        assert part in text, part


def test_man_shows_the_page_without_warnings() -> None:
    if not shutil.which("man"):
        pytest.skip("man is not installed: the page was only read")
    command = ["man", "--warnings", "-l", PAGE]
    completed = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
    )
    assert completed.stderr == ""
    assert "code-commit - change a codebase through a language model" in completed.stdout
    assert max(map(len, completed.stdout.splitlines())) <= 80
