"""Find the rule about paths for which git takes longest: of what to ignore, or of attributes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.git.control_files import ControlFiles

_LONGEST = 1 << 20  # bytes
_NAMES = frozenset({".gitignore", ".gitattributes"})
_FEW = 4  # wildcards, which are fast


def slow_rule(files: ControlFiles) -> str:
    """Return the file and line of the rule with the most wildcards, or "" if all have few."""
    most = _FEW
    place = ""
    for path in _rule_files(files):
        for number, line in enumerate(_lines(path), 1):
            wildcards = line.count(b"*")
            if wildcards > most:
                most = wildcards
                place = f"{path}, line {number}"
    return place


def _rule_files(files: ControlFiles) -> Iterator[Path]:
    yield from (folder / "info/exclude" for folder in files.folders)
    yield from files.of_user
    for folder, subfolders, names in os.walk(files.top):
        if ".git" in subfolders:
            subfolders.remove(".git")
        yield from (Path(folder, name) for name in sorted(_NAMES.intersection(names)))


def _lines(path: Path) -> list[bytes]:
    try:
        with open_regular(path, follow=True) as file:
            return file.read(_LONGEST).split(b"\n")
    except OSError:
        return []
