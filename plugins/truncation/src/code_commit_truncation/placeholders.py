"""Find placeholder lines for code: `# ... existing code ...`, `/* unchanged */`, `<!-- rest -->`.

Such a line is a comment that has only the usual words of placeholders. An ellipsis shows that
something is left out; without one, the words must show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST = 200  # characters; longer lines are not placeholders
_LONGEST_ENCODED = 4 * _LONGEST  # bytes, in UTF-8
# Files where `#` and `*` start headings and lists.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A line, counted from 1, stripped."""

    line: int
    text: str


def first_placeholder(path: str, old: bytes | None, new: bytes) -> Placeholder | None:
    """Return the first line of `new` that stands for left-out code, unless `old` has that line,
    too.

    `path` decides between code and prose; `old` is None for a new file. Takes linear time.
    """
    prose = path.lower().endswith(_PROSE)
    lost = old is not None and new.count(b"\n") < old.count(b"\n")
    known: frozenset[str] | None = None
    for start, line in _hinting_lines(new):
        if leaves_out(line, _line_above(new, start), prose=prose, lost=lost):
            if known is None:
                known = frozenset(each.strip() for each in _decoded(old or b"").split("\n"))
            if line.strip() not in known:
                return Placeholder(new.count(b"\n", 0, start) + 1, line.strip())
    return None


def _hinting_lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield possible placeholders, each with its start. Large files are not decoded as a whole."""
    end = -1
    for hint in _HINT.finditer(content):
        if hint.start() < end:
            continue  # in a line that was already yielded
        start = content.rfind(b"\n", 0, hint.start()) + 1
        end = content.find(b"\n", hint.start())
        line = content[start:] if end < 0 else content[start:end]
        end = start + len(line)
        if len(line) <= _LONGEST_ENCODED and len(text := _decoded(line)) <= _LONGEST:
            yield start, text


def _line_above(content: bytes, start: int) -> str:
    return _decoded(content[content.rfind(b"\n", 0, start - 1) + 1 : start - 1]) if start else ""


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def leaves_out(line: str, above: str = "", *, prose: bool = False, lost: bool = False) -> bool:
    """Return whether `line`, which follows the line `above`, stands for left-out code.

    `prose` is for files that are not code, `lost` for files with fewer lines than before.
    """
    line = _NO_REST.sub("", line).lower().replace("\u2026", "...").strip()
    comment = (_COMMENT_IN_PROSE if prose else _COMMENT).fullmatch(line)
    if comment is None:
        return _UNCOMMENTED.fullmatch(line) is not None and _is_usual(line) and _says_omitted(line)
    text, sign, code = comment["text"], comment["sign"], comment["code"].strip()
    if not _PLAIN.fullmatch(text) or _SPREAD.fullmatch(text) or (code and sign not in _BEHIND_CODE):
        return False
    if _OPENS.match(text):
        return _with_ellipsis(text, code, lost=lost)
    explains = (code and not code.endswith("{")) or (
        sign not in _LONE and above.strip().startswith(sign)
    )
    if explains or not _WORD.search(text):
        return False
    if _CLOSES.search(text):
        return _is_usual(text) and _HINT_WORD.search(text) is not None
    doubtful = sign in _DOUBTFUL or text.endswith(":")
    return not doubtful and _says_omitted(text) and _is_usual(text, names=text.startswith(_RESTS))


def _with_ellipsis(text: str, code: str, *, lost: bool) -> bool:
    """Check a comment that begins with an ellipsis: it probably does not explain `code`."""
    if not _WORD.search(text):
        # It may be part of an example; where code is missing, it marks the place.
        return lost and not code
    if _HINT_WORD.search(text):
        return _is_usual(text, names=2 if _CLOSES.search(text) else 1)
    return not code and _is_usual(text)


# --- comments -----------------------------------------------------------------------------------------------------

_END = r"(?:\*+/\s*\}?|--+>|\*\)|-\})?[\s)\}\];,]*"
_COMMENT = re.compile(
    r"(?P<code>(?:.*?[\s{(\[>;])??)(?P<sign>//+!?|\#+|--+|;+|%+|/\*+|<!--+|\(\*|\{-|\*|'|rem\b)\s*(?P<text>.*?)\s*"
    + _END
)
_COMMENT_IN_PROSE = re.compile(r"(?P<code>)(?P<sign><!--+)\s*(?P<text>.*?)\s*" + _END)
_BEHIND_CODE = ("//", "#", "/*", "<!--")
_LONE = ("/*", "<!--")  # others continue on the next line
_DOUBTFUL = ("*", "'")  # could also be inside a comment or string
_UNCOMMENTED = re.compile(r"(?:[(\[<]?\s*\.{3}|[(\[<])\s*[a-z]+(?:[ -][a-z']+){2,}[\s.]*[)\]>]?")
# Neither code nor another language.
_PLAIN = re.compile(r"[a-z0-9_\s.,;:!'()\[\]<>{}*\-\u2013\u2014&/]*")
_OPENS = re.compile(r"[\s(\[<{*\-]*(?:\.{2,}|--+\s*snip)")
_SPREAD = re.compile(r"[\s(\[{]*\.{3}\w+[\s)\]},]*")  # JavaScript's spread syntax
_CLOSES = re.compile(r"\.{2,}[\s)\]>}*\-]*$")

# --- words --------------------------------------------------------------------------------------------------------

_MOST_WORDS = 14  # more words make a sentence
_OMISSION = (
    r"existing|remain\w*|rest|same|previous|un(?:altered|changed|modified|touched)|omitted|elided|skipped|truncated"
    r"|snip\w*|no (?:\w+ )?changes?"
)
_HINT = re.compile(rf"\.\.|\xe2\x80\xa6|\b(?:{_OMISSION})\b".encode(), re.IGNORECASE)
_HINT_WORD = re.compile(rf"\b(?:{_OMISSION})\b")
_SAYS_OMITTED = re.compile(
    r"\b(?:rest|remainder|un(?:altered|changed|modified|touched)|omitted|elided|truncated|snip(?:ped)?"
    r"|(?:existing|remaining) \w+|(?:remains?|stays?|keep|kept|are|is) (?:\w+ )?same|same as before"
    r"|no (?:\w+ )?changes?)\b"
)
_RESTS = ("rest of ", "the rest of ")
_NO_REST = re.compile(r"\bREST\b(?! OF\b)")  # the software architecture
_WORD = re.compile(r"[a-z0-9_']+(?:[./][a-z0-9_]+)*")
_USUAL = frozenset(
    re.findall(
        r"\w+",
        """
    a above after all and any are arguments as at be before below block blocks body brevity cases change changes class
    classes code comments component components config configuration constants content contents continue continues css
    current declarations definition definitions document elided else end endpoints entire etc every everything exactly
    existing exports fields file files for from full function functions goes handlers helpers here html identical
    implementation implementations imports in initialization is items its jsx keep kept left lines logic main markup
    method methods middleware module more need needed no not of omitted on options original other others our out part
    parts previous program properties props query remain remainder remaining remains rest routes rules same script
    section sections setup shown skipped snip snipped source state statements stay stays stuff styles template test
    tests text that the there these this to truncated types unaffected unaltered unchanged unmodified untouched up
    variables we were with your
        """,
    )
)


def _is_usual(text: str, *, names: int = 0) -> bool:
    """Return whether all words except `names` of them are the usual ones."""
    words = _WORD.findall(text)
    return len(words) <= _MOST_WORDS and sum(word not in _USUAL for word in words) <= names


def _says_omitted(text: str) -> bool:
    return _SAYS_OMITTED.search(text) is not None
