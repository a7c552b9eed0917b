"""Data without some of its parts, and where each of its bytes was."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`data` is what remains: `starts` says where its pieces start, `origins` where they were."""

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
    spans = [match.span() for match in parts.finditer(data)]
    spans.append((len(data), len(data)))
    length = begin = 0
    for start_of_part, end_of_part in spans:
        if start_of_part > begin:
            pieces.append(data[begin:start_of_part])
            starts.append(length)
            origins.append(begin)
            length += start_of_part - begin
        begin = end_of_part
    return LeftOut(b"".join(pieces), starts, origins)
