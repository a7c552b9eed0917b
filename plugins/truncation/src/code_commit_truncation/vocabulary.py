"""The words of placeholders for code."""

from __future__ import annotations

import re

_MOST_WORDS = 14  # more words make a sentence
_OMISSION = (
    r"existing|remain\w*|rest|same|previous|un(?:altered|changed|modified|touched)|omitted|elided"
    r"|skipped|truncated|snip\w*|no (?:\w+ )?changes?"
)
HINT = re.compile(rf"\.\.|\xe2\x80\xa6|\b(?:{_OMISSION})\b".encode(), re.IGNORECASE)
"""An ellipsis or a word that a placeholder may have, in a file's bytes."""

HINT_WORD = re.compile(rf"\b(?:{_OMISSION})\b")
_SAYS_OMITTED = re.compile(
    r"\b(?:rest|remainder|un(?:altered|changed|modified|touched)|omitted|elided|truncated"
    r"|snip(?:ped)?|(?:existing|remaining) \w+"
    r"|(?:remains?|stays?|keep|kept|are|is) (?:\w+ )?same|same as before"
    r"|no (?:\w+ )?changes?)\b"
)
RESTS = ("rest of ", "the rest of ")
NO_REST = re.compile(r"\bREST\b(?! OF\b)")  # the software architecture
WORD = re.compile(r"[a-z0-9_']+(?:[./][a-z0-9_]+)*")
_USUAL = frozenset(
    re.findall(
        r"\w+",
        """
    a above after all and any are arguments as at be before below block blocks body brevity cases
    change changes class classes code comments component components config configuration constants
    content contents continue continues css current declarations definition definitions document
    elided else end endpoints entire etc every everything exactly existing exports fields file files
    for from full function functions goes handlers helpers here html identical implementation
    implementations imports in initialization is items its jsx keep kept left lines logic main
    markup method methods middleware module more need needed no not of omitted on options original
    other others our out part parts previous program properties props query remain remainder
    remaining remains rest routes rules same script section sections setup shown skipped snip
    snipped source state statements stay stays stuff styles template test tests text that the there
    these this to truncated types unaffected unaltered unchanged unmodified untouched up variables
    we were with your
        """,
    )
)


def is_usual(text: str, *, names: int = 0) -> bool:
    """Return whether all words except `names` of them are the usual ones of placeholders."""
    words = WORD.findall(text)
    if len(words) > _MOST_WORDS:
        return False
    unusual = [word for word in words if word not in _USUAL]
    return len(unusual) <= names


def says_omitted(text: str) -> bool:
    """Return whether the words alone, without an ellipsis, say that something is left out."""
    return _SAYS_OMITTED.search(text) is not None
