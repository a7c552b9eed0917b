"""What someone may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the one of `known` that `word` looks like, or None when nothing is close."""
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; is X meant?` for the known word that is close to `word`, or nothing."""
    close = closest(word, known)
    return f"; is {close} meant?" if close else ""
