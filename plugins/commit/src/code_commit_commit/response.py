"""The response format: `^^^path`, the new content, `^^^end`; or `^^^path`, `^^^delete`.

Only LF ends a line, and `^^^` counts only at column 0; a line of four or more carets alone is text.
Any deviation from the format is an error, so that no part of a response is applied. Parsing takes
linear time in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

from code_commit.plugin_api import Change
from code_commit_commit.hooks import Block, MalformedResponse

FENCE = "^^^"
END = "^^^end"
DELETE = "^^^delete"
_QUOTED = 200  # characters of a response without changes
LONGEST_PATH = 4096  # the limit of Linux in bytes; it also bounds parsing


class TooManyFiles(MalformedResponse):
    """The text changes more files than one response may."""

    @classmethod
    def than(cls, max_files: int) -> Self:
        """Return the error for more than `max_files`."""
        return cls(
            f"the response changes more than {max_files:,} files, which is the limit; change fewer"
        )


class NoBlock(MalformedResponse):
    """The text has no block at all: nothing, or words instead of changes."""


def parse_changes(text: str, *, max_files: int | None = None) -> tuple[Change, ...]:
    """Return the changes of a response, in its order.

    Content is every line between the fences with its newline, unchanged, in UTF-8.

    Raises:
        NoBlock: there is no block.
        TooManyFiles: there are more than `max_files`.
        MalformedResponse: a block is incomplete; a path is missing; content is not Unicode text.
    """
    return tuple(Change(span.path, span.content(text)) for span in find_spans(text, max_files))


def find_spans(text: str, max_files: int | None = None) -> list[Span]:
    """Return where the blocks of a response are, at least one.

    Raises:
        NoBlock, TooManyFiles, MalformedResponse: see `parse_changes`.
    """
    parser = ResponseParser(max_files)
    parser.feed(text)
    if spans := parser.finish():
        return spans
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    quoted = f'; it begins "{first[:_QUOTED]}"' if first else "; it is empty"
    raise NoBlock(
        f"there is no file replacement in the response: no line begins with `{FENCE}`{quoted}"
    )


def watch_response(max_files: int) -> Callable[[str], int | None]:
    """Return a function for one response, a `Watch`.

    A response with an error stays malformed, whatever follows.
    """
    parser = ResponseParser(max_files)

    def read(piece: str) -> int | None:
        try:
            parser.feed(piece)
        except MalformedResponse:
            return parser.position
        return None

    return read


def watch_blocks(max_files: int, check: Callable[[Block], object]) -> Callable[[str], int | None]:
    """Return a function for one response, which also checks each block once it is closed.

    `check` raises `MalformedResponse` for a block that is wrong whatever follows.
    """
    parser = ResponseParser(max_files)
    arrived: list[str] = []  # from `start` of the response on
    start = 0

    def read(piece: str) -> int | None:
        nonlocal start
        arrived.append(piece)
        closed = len(parser.spans)
        try:
            parser.feed(piece)
        except MalformedResponse:
            return parser.position
        spans = parser.spans[closed:]
        if not spans:
            return None
        text = "".join(arrived)
        for span in spans:
            try:
                check(span.moved(-start).block(text))
            except MalformedResponse:
                return span.after
        arrived[:] = [text[spans[-1].after - start :]]
        start = spans[-1].after
        return None

    return read


class Span(NamedTuple):
    """Where a block is: its content is from `start` to `end` of the response.

    `end` is None if the file is deleted. `line` is the number of the first line of the content, and
    `after` is where the block ends.
    """

    path: str
    line: int
    start: int
    end: int | None
    after: int

    def content(self, response: str) -> bytes | None:
        """Return the content in UTF-8, None to delete the file.

        Raises:
            MalformedResponse: it is not Unicode text.
        """
        if self.end is None:
            return None
        return _encoded(response[self.start : self.end], f"the content of {self.path}")

    def block(self, response: str) -> Block:
        """Return the block with its content.

        Raises:
            MalformedResponse: it is not Unicode text.
        """
        return Block(self.path, self.content(response), self.line)

    def moved(self, by: int) -> Span:
        """Return the span in a text that begins elsewhere in the response."""
        end = None if self.end is None else self.end + by
        return self._replace(start=self.start + by, end=end, after=self.after + by)


class ResponseParser:
    """Finds the blocks of a response, which arrives in pieces of any size.

    `position` is where the latest line ends that begins with `^^^`, `spans` are the blocks that are
    closed. More than `max_files` blocks are an error.
    """

    def __init__(self, max_files: int | None = None) -> None:
        self._max_files = max_files
        self.position = 0
        self.spans: list[Span] = []
        self._opened: tuple[str, int, int] | None = None  # path, line number, start of the content
        self._after_delete = -1
        self._line: list[str] = []  # what arrived of the unfinished line
        self._start, self._number = 0, 1  # of that line

    def feed(self, piece: str) -> None:
        """Take the next piece, and read the lines that end in it.

        Raises:
            MalformedResponse: a line is wrong.
        """
        self._line.append(piece)
        end = piece.rfind("\n") + 1
        if end:
            text = "".join(self._line)
            end += len(text) - len(piece)
            self._line = [text[end:]]
            self._read(text, end)

    def finish(self) -> list[Span]:
        """Read the last line, and return all blocks.

        Raises:
            MalformedResponse: the line is wrong, or the last block is not closed.
        """
        text = "".join(self._line)
        self._read(text, len(text))
        if self._opened is not None:
            path, number, _ = self._opened
            raise MalformedResponse(
                f"line {number}: the block of {path} has no closing line `{END}`"
            )
        return self.spans

    def _read(self, text: str, end: int) -> None:
        """Read the lines in `text[:end]`."""
        for fence in fences(text, end, self._number):
            self.position = self._start + fence.after
            self._take(fence, self._start + fence.start)
        self._start += end
        self._number += text.count("\n", 0, end)

    def _take(self, fence: Fence, start: int) -> None:
        """Open or close a block with the line at `start` of the response."""
        if self._opened is None:
            if not (fence.line == END and start == self._after_delete):
                if self._max_files is not None and len(self.spans) >= self._max_files:
                    raise TooManyFiles.than(self._max_files)
                self._opened = (_path_of(fence), fence.number, self.position)
            return
        path, number, begin = self._opened
        if fence.line == END:
            self.spans.append(Span(path, number + 1, begin, start, self.position))
        elif fence.line == DELETE and start == begin:
            self.spans.append(Span(path, number + 1, begin, None, self.position))
            self._after_delete = self.position
        elif fence.line == DELETE:
            raise MalformedResponse(
                f"line {fence.number}: `{DELETE}` must be the only line after `{FENCE}{path}`"
            )
        else:
            follows = f"only `{END}` or `{DELETE}` can follow"
            if fence.line == FENCE:
                follows = (
                    f"close the block with `{END}`; a title is underlined with at least four carets"
                )
            raise MalformedResponse(
                f"line {fence.number}: a line inside the block of {path} begins with `{FENCE}`; "
                f"{follows}"
            )
        self._opened = None


class Fence(NamedTuple):
    """A line that begins with `^^^`."""

    number: int  # of its line, from 1
    start: int
    after: int  # the start of the next line
    line: str  # without its newline and trailing blanks


def fences(text: str, end: int | None = None, number: int = 1) -> Iterator[Fence]:
    """Yield every line that begins with `^^^`.

    Lines of four or more carets alone underline titles, and do not count.

    `text` is read up to `end`, where a line ends. `number` is that of its first line.
    """
    if end is None:
        end = len(text)
    counted = 1 if number == 1 and text.startswith("\ufeff") else 0
    start = counted
    if not text.startswith(FENCE, start, end):
        start = _next_fence(text, start, end)
    while start >= 0:
        number += text.count("\n", counted, start)
        counted = start
        line_end = text.find("\n", start, end)
        if line_end < 0:
            line_end = end
        line = text[start:line_end].removesuffix("\r").rstrip(" \t")
        if line == FENCE or line.strip("^"):
            yield Fence(number, start, min(line_end + 1, end), line)
        start = _next_fence(text, line_end, end)


def _next_fence(text: str, position: int, end: int) -> int:
    newline = text.find("\n" + FENCE, position, end)
    return newline + 1 if newline >= 0 else -1


def _path_of(fence: Fence) -> str:
    if fence.line in {END, DELETE}:
        raise MalformedResponse(
            f"line {fence.number}: `{fence.line}` without a line `{FENCE}` and a path before it"
        )
    path = fence.line.removeprefix(FENCE)
    if not path or path[0] in " \t":
        raise MalformedResponse(
            f"line {fence.number}: `{FENCE}` must be followed directly by a path"
        )
    if len(path) > LONGEST_PATH:
        raise MalformedResponse(
            f"line {fence.number}: the path is longer than {LONGEST_PATH} characters"
        )
    _encoded(path, f"line {fence.number}: the path")
    return path


def _encoded(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise MalformedResponse(
            f"{what} has a lone surrogate (U+{ord(text[error.start]):04X}), "
            "which is not valid UTF-8"
        ) from None
