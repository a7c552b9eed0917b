"""Choose a Pygments lexer by file name.

Pygments' own `get_lexer_for_filename` compiles a thousand regular expressions at its first call,
which takes longer than the rest of a page. Almost all patterns are just a name or an extension.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_EXACT = 0.5  # added to a lexer's priority for a pattern without a wildcard


def lexer_for(path: str) -> Lexer | None:
    """Return the lexer that Pygments would choose, set to keep line endings; None without one."""
    chosen = _class_for(path.rpartition("/")[2])
    return chosen(stripnl=False, ensurenl=False) if chosen else None


@cache
def _class_for(name: str) -> type[Lexer] | None:
    from pygments.lexers import find_lexer_class, get_all_lexers

    found: list[tuple[float, str, type[Lexer]]] = []
    for lexer, _, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns:
            cls = find_lexer_class(lexer) if _matches(name, pattern) else None
            if cls is not None:
                found.append((cls.priority + (0 if "*" in pattern else _EXACT), cls.__name__, cls))
    return max(found, key=lambda each: each[:2])[2] if found else None


def _matches(name: str, pattern: str) -> bool:
    ending = pattern.removeprefix("*")
    if "*" in ending or "?" in ending or "[" in ending:
        return fnmatchcase(name, pattern)
    return name == pattern if ending == pattern else name.endswith(ending)
