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
    lexer_class = _class_for(path.rpartition("/")[2])
    if lexer_class is None:
        return None
    return lexer_class(stripnl=False, ensurenl=False)


@cache
def _class_for(name: str) -> type[Lexer] | None:
    from pygments.lexers import find_lexer_class, get_all_lexers

    best: type[Lexer] | None = None
    best_rank = (0.0, "")
    for lexer, _, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns:
            if not _matches(name, pattern):
                continue
            candidate = find_lexer_class(lexer)
            if candidate is None:
                continue
            priority = candidate.priority if "*" in pattern else candidate.priority + _EXACT
            rank = (priority, candidate.__name__)
            if best is None or rank > best_rank:
                best = candidate
                best_rank = rank
    return best


def _matches(name: str, pattern: str) -> bool:
    ending = pattern.removeprefix("*")
    if "*" in ending or "?" in ending or "[" in ending:
        return fnmatchcase(name, pattern)
    if ending == pattern:
        return name == pattern
    return name.endswith(ending)
