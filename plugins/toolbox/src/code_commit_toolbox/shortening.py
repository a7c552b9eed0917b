"""Shorten long text for a model, and mark every cut."""

from __future__ import annotations

from code_commit.plugin_api import count_of


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
    mark = f"[... {count_of(missing, 'character')} left out{where} ...]"
    return "\n".join((head.removesuffix("\n"), mark, tail))
