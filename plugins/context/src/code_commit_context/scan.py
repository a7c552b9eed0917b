"""Count the terms of a query in all files, in one pass that keeps no content."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_commit_context.kinds import is_generated

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

LARGEST = 16 * 1024 * 1024  # bytes of a file; a rollup has no larger one
_SCANNED = 1024 * 1024  # bytes of a file
_MOST = 0xFFFF  # what an array of type H holds


@dataclass
class Scan:
    """The text files among those of a request, in its order.

    `counts` has how often each file has each term.
    """

    paths: list[str] = field(default_factory=list)
    sizes: array[int] = field(default_factory=lambda: array("L"))
    generated: bytearray = field(default_factory=bytearray)
    counts: list[array[int]] = field(default_factory=list)
    not_text: int = 0


def scan(tree: Tree, paths: Sequence[str], terms: Sequence[str]) -> Scan:
    """Count `terms`, which are in lower case, in the files at `paths`."""
    result = Scan(counts=[array("H") for _ in terms])
    needles = [term.encode() for term in terms]
    columns = list(zip(result.counts, needles, strict=True))
    for path, content in tree.contents(paths, LARGEST):
        if content is None or not is_text(content):
            result.not_text += 1
            continue
        text = content[:_SCANNED].lower()
        result.paths.append(path)
        result.sizes.append(len(content))
        result.generated.append(is_generated(text))
        for column, needle in columns:
            column.append(min(text.count(needle), _MOST))
    return result


def is_text(content: bytes) -> bool:
    """Return whether a prompt can contain `content`: UTF-8 without NUL."""
    if b"\0" in content:
        return False
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False
