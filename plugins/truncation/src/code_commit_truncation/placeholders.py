"""Finds lines that stand in place of code: `# ... existing code ...`, `/* unchanged */`, `<!-- rest -->`.

A line is one when it is a comment, and all its words are such as these comments are made of. Words alone would not do:
"the same as before" may be said of anything, so without an ellipsis more is asked for than with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

_LONGEST = 200  # characters of a line that can be one
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")  # where `#` and `*` begin headings and lists


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A line, counted from 1, without the blanks around it."""

    line: int
    text: str


def first_placeholder(path: str, old: bytes | None, new: bytes) -> Placeholder | None:
    """Return the first line of `new` that stands for code left out and that `old`, the file so far, did not hold."""
    text = new.decode("utf-8", "replace")
    prose = path.lower().endswith(_PROSE)
    before = "" if old is None else old.decode("utf-8", "replace")
    # An ellipsis without a word may be an example's; where code is gone, it says where.
    lost = before.count("\n") > text.count("\n")
    known: frozenset[str] | None = None
    for found, line_above in _candidates(text):
        if not leaves_out(found.text, line_above, prose=prose, lost=lost):
            continue
        if known is None:
            known = frozenset(line.strip() for line in before.split("\n"))
        if found.text not in known:
            return found
    return None


def leaves_out(line: str, line_above: str = "", *, prose: bool = False, lost: bool = False) -> bool:
    """Say whether `line` is made to stand for code. `lost`: the file has fewer lines than before."""
    words = _words_without_comment(line)
    if words is not None:
        return _all_vocabulary(words, least=2, strong=True)
    comment = _comments()[prose].fullmatch(line)
    if comment is None:
        return False
    code, sign = comment["code"].strip(), comment["sign"]
    said = _Said.of(comment["text"])
    if said is None:
        return False
    if not said.words:
        return lost and not code and said.opens
    if said.opens:
        strong = bool(code)
        return _all_vocabulary(said.words, strong=strong) or (said.closes and _few_unknown(said.words))
    if code and not code.endswith("{"):
        return False
    if said.closes:
        return _all_vocabulary(said.words, strong=True)
    goes_on = line_above.strip().startswith(sign)
    return sign not in _WEAK_SIGNS and not said.heads and not goes_on and _plainly(said.words)


# --- the words ----------------------------------------------------------------------------------------------------

_ENOUGH_ALONE = frozenset(
    "elided omitted remainder rest skipped snip snipped truncated unaltered unchanged unmodified untouched".split()
)
_STRONG = _ENOUGH_ALONE | frozenset("continues existing previous remain remaining remains same stay stays".split())
_WEAK = frozenset(
    """
    a above after all and any are arguments as at be before below block blocks body brevity cases change changes class
    classes code component components config configuration constants content contents continue current declarations
    definition definitions document else end endpoints entire etc every everything exactly exports fields file files
    for from full function functions goes handlers helpers here identical implementation implementations imports in
    is it items its keep kept left lines logic markup methods method middleware module more need needed no not of on
    options original other others our out part parts program properties props query remain required routes rules same
    section sections setup shown source state statements stuff styles template test tests text that the there these
    this to types unaffected up variables was we were with your jsx html css functionality
    """.split()
)
_TOKEN = re.compile(r"[a-z0-9_']+(?:\.[a-z0-9_]+)*")
_BETWEEN = re.compile(r"[\s.,;:!()\[\]<>{}*\-\u2013\u2014&/]*")
_OPENS = re.compile(r"[\s(\[<{*\-]*(?:\.{2,}|--+\s*snip)")
_CLOSES = re.compile(r"(?:\.{2,}|snip\s*--+)[\s)\]>}*\-]*$")
_MANY = 14  # words: more make a sentence
_UNKNOWN = 3  # names of what is left out


@dataclass(frozen=True, slots=True)
class _Said:
    """The text of a comment: its words, and whether an ellipsis `opens` or `closes` it, or a colon `heads` it."""

    words: tuple[str, ...]
    opens: bool
    closes: bool
    heads: bool

    @classmethod
    def of(cls, text: str) -> _Said | None:
        """Return None for what is no plain words."""
        text = text.lower().replace("\u2026", "...").strip()
        if not _BETWEEN.fullmatch(_TOKEN.sub("", text)):
            return None
        words = tuple(_TOKEN.findall(text))
        closes = text.endswith("...") if False else _CLOSES.search(text) is not None
        return cls(words, _OPENS.match(text) is not None, closes, text.endswith(":"))
