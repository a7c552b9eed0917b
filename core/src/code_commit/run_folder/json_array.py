"""A JSON array in a file that grows by one line per element; a killed process may leave it open."""

from __future__ import annotations

import json
import mmap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from code_commit_workspace import open_regular

ARRAY_END = b"\n]\n"


def array_piece(lines: Sequence[bytes], *, is_first: bool) -> bytes:
    """Return the bytes that append the elements `lines` to the file.

    Append `ARRAY_END` after the last piece.
    """
    if not lines:
        return b""
    elements = b",\n".join(lines)
    if is_first:
        return b"[\n" + elements
    return b",\n" + elements


def close_array(path: Path) -> None:
    """Close the array in a file if it is open, without an incomplete last element.

    Leave other files as they are.

    Raises:
        OSError: the file cannot be read or written, or is not a regular file.
    """
    with open_regular(path, "r+b") as file:
        if file.read(1) != b"[":
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[-3:] in {ARRAY_END, b"[]\n"}:
                return
            end = len(data)
            if data[-2:] == b"\n]":
                end -= 2
            elif data[-1:] == b"\n":
                end -= 1
            start = data.rfind(b"\n", 0, end) + 1
            length = _complete(data[start:end])
            if length:
                end = start + length
            else:  # before the comma and the line's end
                end = max(1, start - 2)
        file.truncate(end)
        file.seek(end)
        file.write(ARRAY_END)


def close_arrays(folder: Path, pattern: str) -> None:
    """Close the arrays in the files of `folder` that match `pattern`.

    Files that cannot be written are skipped.
    """
    for file in folder.glob(pattern):
        with suppress(OSError):
            close_array(file)


def _complete(line: bytes) -> int:
    """Return the length of the element in an array's last line; 0 if it is incomplete."""
    element = line.rstrip(b",")
    try:
        json.loads(element)
    except (ValueError, RecursionError):
        return 0
    return len(element)
