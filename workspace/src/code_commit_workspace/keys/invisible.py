"""Leave out what a terminal does not show: colors, and characters that it prints over."""

from __future__ import annotations

import re
from collections.abc import Iterator

from code_commit_workspace.keys.left_out import LeftOut, leave_out

# A sequence for colors and the like. `tput sgr0` also prints the other two.
_COLORS = rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\([0-~])\x0f?"
_OVERSTRUCK = rb"[^\n\x08]\x08"  # as in manual pages
_HIDDEN = re.compile(_COLORS)  # begins with a fixed byte: much quicker than `_ALL_HIDDEN`
_ALL_HIDDEN = re.compile(rb"%s|%s" % (_COLORS, _OVERSTRUCK))
# At the end of data, also what later data may complete, and a character that may be overstruck.
_BEGUN = rb"\x1b(?:\[[0-?]*[ -/]*(?:[@-~]|\Z)|\((?:[0-~]|\Z)|\Z)\x0f?"
_HIDDEN_SO_FAR = re.compile(_BEGUN)
_ALL_HIDDEN_SO_FAR = re.compile(rb"%s|%s|[^\n]\Z" % (_BEGUN, _OVERSTRUCK))


def visible(data: bytes) -> Iterator[LeftOut]:
    """Yield `data` without colors, and as it looks on paper, where these differ from `data`."""
    if b"\x1b" in data:
        yield leave_out(data, _HIDDEN)
    if b"\x08" in data:
        yield leave_out(data, _ALL_HIDDEN)


def visible_so_far(data: bytes) -> Iterator[LeftOut]:
    """Yield the same for data that is incomplete, without what later data may hide."""
    if b"\x1b" in data:
        yield leave_out(data, _HIDDEN_SO_FAR)
    if b"\x08" in data or data.endswith(b"_"):  # underlined characters are printed over this one
        yield leave_out(data, _ALL_HIDDEN_SO_FAR)
