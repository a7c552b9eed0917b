"""Find the contents of changed files, for the colors of their diffs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from code_commit.plugin_api import NotReady
from code_commit_report.text import read_shown
from code_commit_workspace import read_in_project

# Bytes.
_LARGEST_REPLY = 4 * 1024 * 1024
_LARGEST_FILE = 256 * 1024


class Contents:
    """Finds contents of changed files: in the replies of a run, the latest first, then on disk.

    They are guesses: a diff uses only contents that fit it.
    """

    def __init__(self, folder: Path, replies: Iterable[str | None]) -> None:
        self._folder = folder
        self._replacements: dict[str, list[str]] = {}
        for name in replies:
            reply = read_shown(folder, name, _LARGEST_REPLY)
            if reply is None or reply.left_out:
                continue
            for path, content in _blocks(reply.head):
                self._replacements.setdefault(path, []).append(content)

    def __call__(self, path: str) -> Iterator[str]:
        """Yield each known content of the file at `path`."""
        yield from reversed(self._replacements.get(path, []))
        root = self._folder.parent.parent
        with suppress(NotReady, ValueError):
            content = read_in_project(root, path, limit=_LARGEST_FILE) or b""
            yield content.decode("utf-8", "replace")


def _blocks(reply: str) -> Iterator[tuple[str, str]]:
    """Yield path and content of each file replacement in a reply."""
    pieces = f"\n{reply}".replace("\r\n", "\n").split("\n^^^")
    for piece, following in pairwise(pieces[1:]):
        if following.startswith("end"):
            path, _, content = piece.partition("\n")
            yield path.strip(), f"{content}\n"
