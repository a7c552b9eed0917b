"""Search for syntax errors with tree-sitter, in a separate process: a native parser may crash or
hang.

Input: a list of [path, language, text]. Output: a list of [path, line, column, what], the first few
of each file.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Iterator
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
    json.dump([error for path, language, text in json.load(sys.stdin) for error in errors(path, language, text)],
              sys.stdout)  # fmt: skip


def errors(path: str, language: str, text: str) -> list[list[Any]]:
    if not text.strip():
        return []
    found = []
    for node, what in _wrong(SgRoot(text, language).root()):
        start = node.range().start
        found.append([path, start.line + 1, start.column + 1, what])
        if len(found) == _MOST_ERRORS:
            break
    return found


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
    place, kind = node.range(), node.kind()
    if place.start.index != place.end.index:
        return False
    return not node.is_named() or kind.endswith(_NEEDED)


if __name__ == "__main__":
    main()
