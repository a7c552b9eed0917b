"""Find the rule about paths for which git takes longest: of what to ignore, or of attributes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.git.control_files import ControlFiles

_LONGEST = 1 << 20  # bytes
_MOST = 30  # wildcards in a rule, which are as slow as any more


def slow_rule(files: ControlFiles, names: Iterable[str]) -> str:
    """Return the file that takes longest, with its slowest line; "" if no rule has a wildcard.

    `names` are those of the files in the work tree that git matches paths with. The time of a rule
    multiplies with each wildcard.
    """
    most = 1
    place = ""
    for path in _rule_files(files, frozenset(names)):
        wildcards = [min(line.count(b"*"), _MOST) for line in _rules(path)]
        work = sum(4**count for count in wildcards if count)
        if work > most:
            most = work
            place = f"{path}, line {wildcards.index(max(wildcards)) + 1}"
    return place


def _rule_files(files: ControlFiles, names: frozenset[str]) -> Iterator[Path]:
    yield from (folder / "info/exclude" for folder in files.folders)
    yield from files.of_user
    for folder, subfolders, entries in os.walk(files.top):
        if ".git" in subfolders:
            subfolders.remove(".git")
        yield from (Path(folder, name) for name in sorted(names.intersection(entries)))


def _rules(path: Path) -> list[bytes]:
    """Return the lines of a file, those of comments empty."""
    try:
        with open_regular(path, follow=True) as file:
            lines = file.read(_LONGEST).split(b"\n")
    except OSError:
        return []
    return [b"" if line.startswith(b"#") else line for line in lines]
