"""Configuration files of git: read as git reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from code_commit_workspace import GitError
from code_commit_workspace.git.config_file import parse_config

CONFIG = """\ufeff# a comment
[core] bare = false ; behind it
\trepositoryformatversion=0
[Filter "With.Dots \\"and\\\\ quotes\\""]
\tclean = "a  # b" c ; d
\tSmudge = one \\
  two\\tthree\\n "x y"  \t
[old.Style]
key
other-Key =
[empty]
[a]b=c"""


def listed_by_git(file: Path) -> str:
    command = ["git", "config", "--file", str(file), "--list", "-z"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_configuration_file_is_read_as_git_reads_it(tmp_path, home):
    file = tmp_path / "config"
    for text in (CONFIG, CONFIG.replace("\n", "\r\n"), "", "\n\n", '[a]\nb = \\\\\\"\n'):
        file.write_bytes(text.encode())
        listing = listed_by_git(file).split("\0")[:-1]
        entries = [
            (name, value if line else "true")
            for name, line, value in (entry.partition("\n") for entry in listing)
        ]
        assert parse_config(text, "config") == entries


@pytest.mark.parametrize(
    "text",
    ["[core\n", "[a]\n= b\n", '[a]\nb = "c\n', "[a]\nb = \\x\n", "[a]\n1b = c\n", "[a]\nb c\n"],
)
def test_a_broken_configuration_file_is_an_error_as_for_git(tmp_path, home, text):
    (tmp_path / "config").write_text(text)
    with pytest.raises(GitError, match="bad config line"):
        parse_config(text, "config")
    with pytest.raises(subprocess.CalledProcessError):
        listed_by_git(tmp_path / "config")
