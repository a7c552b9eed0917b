"""Say why a build failed in the sandbox: it wrote to a place that is read-only there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from code_commit_workspace.programs import within

_READ_ONLY = re.compile(r"EROFS|read-only file ?system", re.IGNORECASE)
_ABSENT = re.compile(r"ENOENT|no such file or directory", re.IGNORECASE)  # npm, pnpm and Maven say only that
_PATH = re.compile(r"""['"`\u2018\u201c](/[^'"`\u2019\u201d\n]+)|(?<![\w.:/])(/[^\s'"`:,;()<>\[\]]+)""")
_LINES_BEFORE = 3  # cargo names the path above the reason
_DEEP = {".config": 2, ".local": 3}  # folders of many programs


def read_only_advice(output: str, *, project: str, home: str, writable: Iterable[str]) -> str:
    """Return what the user can do if `output` shows a failed write to a read-only place, on one line; or ""."""
    lines = output.splitlines()
    opened = tuple(each for each in writable if within(each, home))
    for number, line in enumerate(lines):
        if _READ_ONLY.search(line):
            around = reversed(lines[max(0, number - _LINES_BEFORE) : number + 1])
            found = next((path for each in around for path in _paths(each)), "")
            if found and not within(found, project):
                return _how_to_open(found, home)
            return (
                f"the sandbox keeps .git, build.sh and other files of the project read-only: {' '.join(line.split())}"
            )
        if _ABSENT.search(line):
            for path in _paths(line):
                if within(path, home) and not any(within(path, each) for each in opened) and not Path(path).exists():
                    return _how_to_open(path, home)
    return ""


def _paths(line: str) -> Iterator[str]:
    for quoted, plain in _PATH.findall(line):
        path = (quoted or plain).rstrip("/.")
        if path:
            yield path


def _how_to_open(path: str, home: str) -> str:
    folder = str(Path(path).parent)
    if within(path, home) and path != home:
        parts = Path(path).relative_to(home).parts
        folder = "/".join(("~", *parts[: _DEEP.get(parts[0], 1)]))
    return (
        f"{path} cannot be written in the sandbox; if builds need that, make the folder and add this to your own "
        f'configuration: sandbox.writable = ["{folder}"]'
    )
