"""Shorten long text for a model, and mark every cut."""

from __future__ import annotations


def head_and_tail(text: str, limit: int, *, whole: str = "") -> str:
    """Return `text`, or its first and last characters, `limit` in total, around a line with the
    number of missing ones.

    `whole` describes where the whole text is. Cut at line ends where possible.
    """
    if len(text) <= limit:
        return text
    head, tail = text[: limit // 2], text[len(text) - (limit - limit // 2) :]
    end = head.rfind("\n") + 1
    if end > len(head) // 2:
        head = head[:end]
    start = tail.find("\n") + 1
    if 0 < start < len(tail) // 2:
        tail = tail[start:]
    missing = len(text) - len(head) - len(tail)
    where = f"; {whole}" if whole else ""
    return f"{head.removesuffix(chr(10))}\n[... {missing} character{'s' * (missing != 1)} left out{where} ...]\n{tail}"
