"""Search for syntax errors with tree-sitter, in a process: a native parser may crash or hang.

Input: a list of [path, language, text]. Output: a list of [path, line, column, problem], the first
few of each file.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ast_grep_py import SgRoot

_MEMORY = 4 * 1024 * 1024 * 1024  # bytes
_MOST_ERRORS = 3  # errors per file
_SHOWN = 60  # characters of unparsable text
# If one of these is missing, the parser inserts an empty node.
_NEEDED = ("identifier", "name", "number", "integer", "expression")


def main() -> None:
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    seconds = int(sys.argv[1])  # the parent may have ended
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    files = json.load(sys.stdin)
    rows = [row for path, language, text in files for row in errors(path, language, text)]
    json.dump(rows, sys.stdout)


def errors(path: str, language: str, text: str) -> list[list[Any]]:
    if not text.strip():
        return []
    rows = []
    for node, problem in islice(_wrong(SgRoot(text, language).root()), _MOST_ERRORS):
        start = node.range().start
        rows.append([path, start.line + 1, start.column + 1, problem])
    return rows


def _wrong(root: Any) -> Iterator[tuple[Any, str]]:
    """Yield unparsable and missing nodes in text order."""
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if node.kind() == "ERROR":
            yield node, "cannot be parsed: " + " ".join(node.text().split())[:_SHOWN]
            continue
        children = node.children()
        if not children and _is_missing(node):
            yield node, f"{node.kind()} is missing"
        ahead.extend(reversed(children))


def _is_missing(node: Any) -> bool:
    place = node.range()
    if place.start.index != place.end.index:
        return False
    return not node.is_named() or node.kind().endswith(_NEEDED)


if __name__ == "__main__":
    main()
