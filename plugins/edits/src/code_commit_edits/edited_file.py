"""The content of a file after its edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

from code_commit.plugin_api import count_of
from code_commit_commit.hooks import MalformedResponse
from code_commit_edits.edits import Edit
from code_commit_edits.nearest import describe_nearest
from code_commit_edits.places import find_places

_BOM = b"\xef\xbb\xbf"
_MOST_FAULTS = 10  # of a file that a message describes


def edited(path: str, old: bytes | None, edits: Sequence[Edit], *, describe: bool = True) -> bytes:
    """Return the content of a file after its edits. `old` is None if there is no file.

    `describe` adds to an error what the file has instead.

    Raises:
        MalformedResponse: an edit does not fit the file.
    """
    if not all(edit.search for edit in edits):
        return _created(path, old, edits)
    if old is None:
        raise MalformedResponse(
            f"{path}: there is no such file to edit; write a new file in full, without edits"
        )
    file = _File(old)
    places = find_places(
        [tuple(map(_key, edit.search)) for edit in edits],
        map(_key, file.lines),
    )
    most = _MOST_FAULTS if describe else 0
    if faults := list(_faults(edits, places, file.lines, most)):
        described = [f"{path}: {fault}" for fault in faults[:_MOST_FAULTS]]
        if left_out := len(faults) - len(described):
            described.append(f"{path}: {count_of(left_out, 'more edit')} cannot be applied, either")
        raise MalformedResponse("\n\n".join(described))
    return file.after(_in_order(edits, places))


def _created(path: str, old: bytes | None, edits: Sequence[Edit]) -> bytes:
    """Return the content of a new file, which is the new text of an edit without a text to search.

    Raises:
        MalformedResponse: the file has content, or there are more edits.
    """
    if old:
        raise MalformedResponse(
            f"{path}: an edit has no text to search, but the file is not empty; search the lines "
            "to replace, or write the file in full, without edits"
        )
    if len(edits) > 1:
        raise MalformedResponse(
            f"{path}: the file is new or empty, so only one edit can write it, without a text to "
            "search"
        )
    return _joined(edits[0].replace)


def _in_order(edits: Sequence[Edit], places: Sequence[Sequence[int]]) -> list[tuple[int, Edit]]:
    """Return each edit that has one place, with that place, from the start of the file on."""
    placed = [
        (found[0], edit) for found, edit in zip(places, edits, strict=True) if len(found) == 1
    ]
    return sorted(placed, key=itemgetter(0))


def _faults(
    edits: Sequence[Edit],
    places: Sequence[Sequence[int]],
    lines: Sequence[bytes],
    most: int,
) -> Iterator[str]:
    """Yield why edits cannot be applied, those whose text is not in the file first.

    Of the first `most` of them, tell what is nearest.
    """
    missing = [edit for edit, found in zip(edits, places, strict=True) if not found]
    described = missing[:most]
    for edit, nearest in zip(described, describe_nearest(described, lines), strict=True):
        yield f"{_searched(edit)} is not in the file. {nearest}"
    yield from (f"{_searched(edit)} is not in the file" for edit in missing[most:])
    for edit, found in zip(edits, places, strict=True):
        if len(found) > 1:
            first, second = found
            yield (
                f"{_searched(edit)} is in the file more than once, at lines {first + 1:,} and "
                f"{second + 1:,}. Add lines around it, so that it is unique"
            )
    for (start, edit), (following, other) in pairwise(_in_order(edits, places)):
        if following < start + len(edit.search):
            yield (
                f"the edits in lines {edit.line:,} and {other.line:,} of the response overlap: "
                f"both search line {following + 1:,} of the file. Make one edit of them"
            )


def _searched(edit: Edit) -> str:
    return f"the text to search of the edit in line {edit.line:,} of the response"


class _File:
    """A file as `lines` without their LF; a CR is part of a line."""

    def __init__(self, content: bytes) -> None:
        text = content.removeprefix(_BOM)
        self._bom = content[: len(content) - len(text)]
        self._line_end = b"\n"
        if text.count(b"\n") == text.count(b"\r\n") > 0:
            self._line_end = b"\r\n"
        self._is_ended = not text or text.endswith(b"\n")
        if not self._is_ended:
            text += self._line_end
        self.lines = text.split(b"\n")
        self.lines.pop()

    def after(self, placed: Iterable[tuple[int, Edit]]) -> bytes:
        """Return the content with each edit at its place. It keeps a BOM and a missing last LF."""
        lines: list[bytes] = []
        position = 0
        for start, edit in placed:
            end = start + len(edit.search)
            lines += self.lines[position:start]
            lines += _replaced(self.lines[start:end], edit)
            position = end
        lines += self.lines[position:]
        text = _joined(lines)
        if not self._is_ended:
            text = text.removesuffix(self._line_end)
        return self._bom + text.removeprefix(self._bom) if text else b""


def _replaced(lines: Sequence[bytes], edit: Edit) -> list[bytes]:
    """Return what takes the place of `lines`, which `edit` searches.

    The lines at the start and the end that the edit keeps stay as they are in the file. New lines
    end with CRLF if each of `lines` does, else as the response has them.
    """
    before = _common(edit.search, edit.replace)
    rest = slice(before, None)
    after = _common(edit.search[rest][::-1], edit.replace[rest][::-1])
    new = edit.replace[before : len(edit.replace) - after]
    if all(line.endswith(b"\r") for line in lines):
        new = [line.removesuffix(b"\r") + b"\r" for line in new]
    return [*lines[:before], *new, *lines[len(lines) - after :]]


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return with how many equal lines both begin."""
    pairs = zip(one, other, strict=False)
    return next(
        (index for index, (line, its) in enumerate(pairs) if line != its),
        min(len(one), len(other)),
    )


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"\n".join([*lines, b""])


def _key(line: bytes) -> bytes:
    """Return a line as it is compared: without trailing blanks, a CR, and a BOM at its start."""
    return line.removeprefix(_BOM).rstrip(b" \t\r")
