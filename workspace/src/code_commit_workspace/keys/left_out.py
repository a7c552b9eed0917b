"""Data without some of its parts, and where each of its bytes was."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`data` is what is left: `starts` are where its pieces start, `origins` where they were."""

    data: bytes
    starts: Sequence[int]
    origins: Sequence[int]

    def origin(self, place: int) -> int:
        """Return where the byte at `place` was."""
        piece = bisect_right(self.starts, place) - 1
        return self.origins[piece] + place - self.starts[piece]


def leave_out(data: bytes, parts: re.Pattern[bytes]) -> LeftOut:
    """Return `data` without what matches `parts`."""
    pieces: list[bytes] = []
    starts: list[int] = []
    origins: list[int] = []
    length = begin = 0
    for found in (*parts.finditer(data), None):
        end = found.start() if found else len(data)
        if end > begin:
            pieces.append(data[begin:end])
            starts.append(length)
            origins.append(begin)
            length += end - begin
        if found:
            begin = found.end()
    return LeftOut(b"".join(pieces), starts, origins)
