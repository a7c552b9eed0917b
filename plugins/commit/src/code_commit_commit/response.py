"""The response format: `^^^path`, the new content, `^^^end`; or `^^^path`, `^^^delete`.

Only LF ends a line, and `^^^` counts only at column 0; a line of four or more carets alone is text. Any deviation from
the format is an error, so that no part of a response is applied. Parsing takes linear time in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from code_commit.plugin_api import Change

FENCE = "^^^"
END = "^^^end"
DELETE = "^^^delete"
_QUOTED = 200  # characters of a response without changes
LONGEST_PATH = 4096  # the limit of Linux in bytes; it also bounds parsing


class MalformedResponse(Exception):  # noqa: N818 - names a kind of response
    """The text does not follow the response format. The message is for the model that repairs it."""


def parse_changes(text: str) -> tuple[Change, ...]:
    """Return the changes of a response, in its order.

    Content is every line between the fences with its newline, unchanged, in UTF-8.

    Raises:
        MalformedResponse: there is no block, or an incomplete one; a path is missing; content is not Unicode text.
    """
    changes: list[Change] = []
    opened: tuple[str, int, int] | None = None  # path, line number, start of the content
    after_delete = -1
    for fence in fences(text):
        if opened is None:
            if not (fence.line == END and fence.start == after_delete):
                opened = (_path_of(fence), fence.number, fence.after)
            continue
        path, _, begin = opened
        if fence.line == END:
            changes.append(Change(path, _encoded(text[begin : fence.start], f"the content of {path}")))
        elif fence.line == DELETE and fence.start == begin:
            changes.append(Change(path, None))
            after_delete = fence.after
        elif fence.line == DELETE:
            raise MalformedResponse(f"line {fence.number}: `{DELETE}` must be the only line after `{FENCE}{path}`")
        else:
            raise MalformedResponse(
                f"line {fence.number}: a line inside the block of {path} begins with `{FENCE}`; "
                f"only `{END}` or `{DELETE}` can follow"
            )
        opened = None
    if opened is not None:
        raise MalformedResponse(f"line {opened[1]}: the block of {opened[0]} has no closing line `{END}`")
    if not changes:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        quoted = f'; it begins "{first[:_QUOTED]}"' if first else "; it is empty"
        raise MalformedResponse(f"there is no file replacement in the response: no line begins with `{FENCE}`{quoted}")
    return tuple(changes)


class Fence(NamedTuple):
    """A line that begins with `^^^`."""

    number: int  # of its line, from 1
    start: int
    after: int  # the start of the next line
    line: str  # without its newline and trailing blanks


def fences(text: str) -> Iterator[Fence]:
    """Yield every line that begins with `^^^`, but not those of four or more carets alone, which underline titles."""
    counted = 1 if text.startswith("\ufeff") else 0
    start = counted if text.startswith(FENCE, counted) else _next_fence(text, counted)
    number = 1
    while start >= 0:
        number += text.count("\n", counted, start)
        counted = start
        newline = text.find("\n", start)
        line_end = newline if newline >= 0 else len(text)
        line = text[start:line_end].removesuffix("\r").rstrip(" \t")
        if line == FENCE or line.strip("^"):
            yield Fence(number, start, min(line_end + 1, len(text)), line)
        start = _next_fence(text, line_end)


def _next_fence(text: str, position: int) -> int:
    found = text.find("\n" + FENCE, position)
    return found + 1 if found >= 0 else -1


def _path_of(fence: Fence) -> str:
    if fence.line in {END, DELETE}:
        raise MalformedResponse(f"line {fence.number}: `{fence.line}` without a line `{FENCE}` and a path before it")
    path = fence.line.removeprefix(FENCE)
    if not path or path[0] in " \t":
        raise MalformedResponse(f"line {fence.number}: `{FENCE}` must be followed directly by a path")
    if len(path) > LONGEST_PATH:
        raise MalformedResponse(f"line {fence.number}: the path is longer than {LONGEST_PATH} characters")
    _encoded(path, f"line {fence.number}: the path")
    return path


def _encoded(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise MalformedResponse(
            f"{what} has a lone surrogate (U+{ord(text[error.start]):04X}), which is not valid UTF-8"
        ) from None
