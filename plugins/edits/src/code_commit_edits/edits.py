"""The edits in a block of a response.

An edit is a line `<<<<<<< SEARCH`, lines of the file, `=======`, the new lines, `>>>>>>> REPLACE`.
The three markers of an edit have the same length, seven characters or more, so that any line can be
part of a text: a marker of another length is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from code_commit.plugin_api import shorten
from code_commit_commit.hooks import Block, MalformedResponse

_MARKER = re.compile(rb"(?:(<{7,}) SEARCH|(={7,})|(>{7,}) REPLACE)[ \t]*\r?")
_OUTER_MARKER = re.compile(rb"^(?:<{7,} SEARCH|>{7,} REPLACE)[ \t]*\r?$", re.MULTILINE)
_ALMOST = re.compile(rb"\s*<{5,}")  # at the start of a block: never guess that it is a whole file
_SHOWN = 100  # characters of a line
_FORM = (
    "an edit is a line `<<<<<<< SEARCH`, lines of the file, a line `=======`, the new lines, and a "
    "line `>>>>>>> REPLACE`"
)
_LONGER = (
    "If a line of the text consists of such a marker itself, write all three markers of that edit "
    "longer, for example with eight characters"
)


@dataclass(frozen=True, slots=True)
class Edit:
    """The lines to search and their replacement, without line ends.

    `line` is the number of the first marker in the response.
    """

    search: Sequence[bytes] = field(repr=False)
    replace: Sequence[bytes] = field(repr=False)
    line: int


def read_edits(block: Block) -> list[Edit]:
    """Return the edits of a block, none if it has a whole file or deletes one.

    Raises:
        MalformedResponse: the block has markers that form no edits.
    """
    content = block.content
    if not content or not _has_markers(content):
        return []
    reader = _EditReader(block.path)
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], block.line):  # the last line ends, too
        reader.read(line, number)
    return reader.finish()


def _has_markers(content: bytes) -> bool:
    if _ALMOST.match(content):
        return True
    if b" SEARCH" not in content and b" REPLACE" not in content:
        return False
    return _OUTER_MARKER.search(content) is not None


class _EditReader:
    """Reads the lines of a block."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._edits: list[Edit] = []
        self._length = 0  # of the markers of the open edit
        self._line = 0  # of its first marker
        self._texts: list[list[bytes]] = []  # of the open edit: one, or two from `=======` on

    def read(self, line: bytes, number: int) -> None:
        """Take the next line.

        Raises:
            MalformedResponse: it cannot stand here.
        """
        marker = _MARKER.fullmatch(line)
        if not self._length:
            if marker and marker[1]:
                self._length = len(marker[1])
                self._line = number
                self._texts = [[]]
            elif line.strip():
                raise self._misplaced(line, number)
        elif marker is None or len(marker[marker.lastindex or 0]) != self._length:
            self._texts[-1].append(line)
        elif marker[2] and len(self._texts) == 1:
            self._texts.append([])
        elif marker[3] and len(self._texts) == 2:  # noqa: PLR2004 - the text, and the new one
            self._edits.append(Edit(self._texts[0], self._texts[1], self._line))
            self._length = 0
        else:
            raise self._misplaced(line, number)

    def finish(self) -> list[Edit]:
        """Return the edits.

        Raises:
            MalformedResponse: the last one is not complete.
        """
        if self._length:
            missing = f"`{'>' * self._length} REPLACE`"
            if len(self._texts) == 1:
                missing = f"`{'=' * self._length}`"
            raise MalformedResponse(
                f"line {self._line}: the edit of {self._path} has no line {missing}; {_FORM}. "
                "All three markers have the same length"
            )
        return self._edits

    def _misplaced(self, line: bytes, number: int) -> MalformedResponse:
        shown = shorten(line.decode("utf-8", "replace").strip(), _SHOWN)
        return MalformedResponse(
            f"line {number}: `{shown}` cannot stand here, in the block of {self._path}; {_FORM}. "
            f"Between the edits of a block, there are only blank lines. {_LONGER}"
        )
