"""Shorten long text for a model, and mark every cut."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from code_commit.plugin_api import count_of


def head_and_tail(text: str, limit: int, *, whole: str = "") -> str:
    """Return `text`, or `limit` of its characters, around a line with the number of missing ones.

    Half of them are the first, half the last ones, cut at line ends where possible. `whole`
    describes where the whole text is.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    head = text[:half]
    tail = text[len(text) - (limit - half) :]
    end = head.rfind("\n") + 1
    if end > len(head) // 2:
        head = head[:end]
    start = tail.find("\n") + 1
    if 0 < start < len(tail) // 2:
        tail = tail[start:]
    missing = len(text) - len(head) - len(tail)
    place = f"; {whole}" if whole else ""
    note = f"[... {count_of(missing, 'character')} left out{place} ...]"
    return "\n".join([head.removesuffix("\n"), note, tail])


def fitting(lines: Iterable[str], limit: int) -> int:
    """Return how many of the first lines fit into `limit` characters, with their line ends."""
    sizes = accumulate(len(line) + 1 for line in lines)
    return sum(size <= limit for size in sizes)
