"""Show a unified diff on a terminal: escaped, in color, and no longer than wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from code_commit_workspace.words import printable, shorten

_LONGEST = 400  # characters of a line
_STYLES = {"+": "32", "-": "31"}  # green and red
_HEAD, _PLACE = "1", "36"  # bold and cyan


def diff_lines(diff: str, most: int = 0) -> tuple[Sequence[str], int]:
    """Return the first `most` lines of a diff, or all for 0, and how many there are besides.

    They are escaped. Long lines are cut.
    """
    lines = diff.removesuffix("\n").split("\n") if diff else []
    shown = lines[:most] if most else lines
    return [shorten(printable(line), _LONGEST) for line in shown], len(lines) - len(shown)


def in_color(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff in color."""
    is_head = True
    for line in lines:
        if line.startswith("diff "):  # lines of a hunk begin with a sign
            is_head = True
        elif line.startswith("@@ "):
            is_head = False
        style = _HEAD if is_head else _STYLES.get(line[:1], "")
        if line.startswith("@@ "):
            style = _PLACE
        yield f"\x1b[{style}m{line}\x1b[0m" if style else line
