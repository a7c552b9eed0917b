"""The terms of a text: the stems of its words, and its identifiers, to count in files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

_MOST = 16  # more make no better choice
_SHORTEST = 3  # letters
_LONGEST_TEXT = 100_000  # characters

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_WORD = re.compile(r"[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")  # in `camelCase`, `HTTPError`
# Chinese, Japanese and Korean have no blanks between words: pairs of characters stand for words.
WITHOUT_BLANKS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ENDINGS = re.compile(r"(?<=\w{4})(?:ations?|ings?|ed|ers?|ly|(?<=[sxzh])es|(?<!s)s)$")
_LAST_LETTERS = re.compile(r"(?<=\w{4})(?:ie|[eiy])$|(?<=(?P<doubled>[bdgmnprt]))(?P=doubled)$")
_STOP_WORDS = frozenset(
    """
    a about add added adding adds after all also always an and another any are as at be because
    been before being both but by can cannot change changed changes could did do does don each
    else ensure even every few fix fixed fixes fixing for from get give given had has have having
    here how if in instead into is isn it its just less like longer make makes making may might
    more most must new no non not now of off on once one only onto or other our out over own per
    please properly rather really remove removed removes removing same set should so some still
    such than that the their them then there these they this those through to too under unless
    until up update updated updates use used uses using very via was we were what when where
    whether which while who why will with within without would you your
    """.split()  # noqa: SIM905 - lines of words
)


def terms_of(text: str) -> dict[str, float]:
    """Return the terms of `text` in lower case, most frequent first, and the weight of each."""
    counts = Counter(_terms(text[:_LONGEST_TEXT]))
    return {term: 1 + math.log(count) for term, count in counts.most_common(_MOST)}


def _terms(text: str) -> Iterator[str]:
    for identifier in _IDENTIFIER.findall(WITHOUT_BLANKS.sub(" ", text)):
        parts = [part for word in _WORD.findall(identifier) for part in _HUMP.split(word)]
        if len(parts) > 1:
            yield identifier.strip("_").lower()
        for part in parts:
            stem = stem_of(part.lower())
            if part.lower() not in _STOP_WORDS and len(stem) >= _SHORTEST:
                yield stem
    for piece in WITHOUT_BLANKS.findall(text):
        yield from (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))


def stem_of(word: str) -> str:
    """Return what the forms of a word begin with: `pars` for `parsing`, `parser` and `parse`."""
    return _LAST_LETTERS.sub("", _ENDINGS.sub("", word))
