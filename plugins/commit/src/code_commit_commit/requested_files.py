"""A response that asks for files instead of changing them.

It has a line `%%%files`, a path per line, and a line `%%%end`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal

from code_commit.plugin_api import Watch
from code_commit_commit.hooks import MalformedResponse
from code_commit_commit.response import DELETE, END, FENCE, LONGEST_PATH, fences

BEGIN, CLOSE = "%%%files", "%%%end"
MOST = 200  # paths of one list
_BEGIN = re.compile(rf"^{BEGIN}[ \t\r]*$", re.MULTILINE)
_CLOSE = re.compile(rf"^{CLOSE}[ \t\r]*$", re.MULTILINE)


def requested_files(text: str) -> tuple[str, ...] | None:
    """Return the paths that a response asks for, or None if it has no list.

    Lines in the block of a file are content of the file.

    Raises:
        MalformedResponse: it also changes files, has more than one list, or the list is empty,
            too long or not closed.
    """
    blocks = list(_blocks(text))
    lists = [
        found
        for found in _BEGIN.finditer(text)
        if not any(start <= found.start() < end for start, end in blocks)
    ]
    if not lists:
        return None
    if blocks:
        raise MalformedResponse(
            f"the response has both file replacements and a list `{BEGIN}`: "
            "reply with one of them only"
        )
    if len(lists) > 1:
        raise MalformedResponse(f"the response has more than one line `{BEGIN}`")
    close = _CLOSE.search(text, lists[0].end())
    if close is None:
        raise MalformedResponse(f"the list `{BEGIN}` has no closing line `{CLOSE}`")
    lines = text[lists[0].end() : close.start()].splitlines()
    paths = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not paths:
        raise MalformedResponse(f"the list `{BEGIN}` has no path")
    if len(paths) > MOST:
        raise MalformedResponse(f"the list `{BEGIN}` has more than {MOST} paths")
    return paths


def watch_requests(watch: Watch | None) -> Watch:
    """Return a `Watch` for responses that may also ask for files.

    A response that begins with a list ends there, unless a change follows at once.
    """

    def begin() -> Callable[[str], int | None]:
        request = _ArrivingRequest()
        changes = watch() if watch else None

        def read(piece: str) -> int | None:
            end = request.feed(piece)
            return changes(piece) if end is None and changes else end

        return read

    return begin


class _ArrivingRequest:
    """Finds the end of a list that begins a response, which arrives in pieces of any size."""

    def __init__(self) -> None:
        self._state: Literal["before", "inside", "after", "none"] = "before"
        self._unread = ""
        self._start = 0  # of what is unread
        self._end = 0  # of the list

    def feed(self, piece: str) -> int | None:
        """Take the next piece. Return where the response ends for us, once that is known."""
        if self._state == "none":
            return None
        self._unread += piece
        while self._state in {"before", "inside"} and (size := self._unread.find("\n") + 1):
            self._take(self._unread[: size - 1].rstrip(" \t\r"), self._start + size - 1)
            self._unread = self._unread[size:]
            self._start += size
        if self._state == "after":
            return self._what_follows()
        if len(self._unread) > LONGEST_PATH:
            self._state = "none"
        return None

    def _take(self, line: str, end: int) -> None:
        """Read a line that ends at `end` of the response."""
        if self._state == "inside" and line == CLOSE:
            self._state, self._end = "after", end
        elif self._state == "before" and (words := line.lstrip("\ufeff")):
            self._state = "inside" if words == BEGIN else "none"

    def _what_follows(self) -> int | None:
        """Return the end of the list, or of the fence after it; None while neither is known."""
        following = self._unread.lstrip()
        if FENCE.startswith(following):
            return None
        blank = len(self._unread) - len(following)
        begins_line = not blank or self._unread[blank - 1] == "\n"
        if following.startswith(FENCE) and begins_line:
            return self._start + blank + len(FENCE)
        return self._end


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each block that changes a file."""
    start: int | None = None
    for fence in fences(text):
        if start is None and fence.line not in {END, DELETE}:
            start = fence.start
        elif start is not None and fence.line in {END, DELETE}:
            yield start, fence.after
            start = None
    if start is not None:
        yield start, len(text)
