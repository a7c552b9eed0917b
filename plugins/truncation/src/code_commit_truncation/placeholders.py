"""Find placeholder lines for code: `# ... existing code ...`, `/* unchanged */`, `<!-- rest -->`.

Such a line is a comment that has only the usual words of placeholders. An ellipsis shows that
something is left out; without one, the words must show it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from code_commit_truncation.vocabulary import (
    HINT,
    HINT_WORD,
    NO_REST,
    RESTS,
    WORD,
    is_usual,
    says_omitted,
)

_LONGEST = 200  # characters; longer lines are not placeholders
_LONGEST_ENCODED = 4 * _LONGEST  # bytes, in UTF-8
# Files where `#` and `*` start headings and lists.
_PROSE = (".md", ".markdown", ".rst", ".txt", ".adoc")

# Comments, in lower case.
_COMMENT = re.compile(
    r"(?P<code>(?:.*?[\s{(\[>;])??)(?P<sign>//+!?|\#+|--+|;+|%+|/\*+|<!--+|\(\*|\{-|\*|'|rem\b)"
)
_COMMENT_IN_PROSE = re.compile(r"(?P<code>)(?P<sign><!--+)")
# The end of a comment and of the code around it, backwards.
_END = re.compile(r"[\s)\}\];,]*+(?:/\*+|>-{2,}|(?<=\))\*|(?<=\})-)?\s*")
_BEHIND_CODE = ("//", "#", "/*", "<!--")
_LONE = ("/*", "<!--")  # others continue on the next line
_DOUBTFUL = ("*", "'")  # could also be inside a comment or string
_UNCOMMENTED = re.compile(r"(?:[(\[<]?\s*\.{3}|[(\[<])\s*[a-z]+(?:[ -][a-z']+){2,}[\s.]*[)\]>]?")
# Neither code nor another language.
_PLAIN = re.compile(r"[a-z0-9_\s.,;:!'()\[\]<>{}*\-\u2013\u2014&/]*")
_OPENING = re.compile(r"[\s(\[<{*\-]*")
_SPREAD = re.compile(r"[\s(\[{]*\.{3}\w+[\s)\]},]*")  # JavaScript's spread syntax
_CLOSES = re.compile(r"(?<!\.)\.{2,}[\s)\]>}*\-]*$")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A line, counted from 1, stripped."""

    line: int
    text: str


def first_placeholder(path: str, old: bytes | None, new: bytes) -> Placeholder | None:
    """Return the first line of `new` that stands for left-out code. A line of `old` is none.

    `path` decides between code and prose; `old` is None for a new file. Takes linear time.
    """
    prose = path.lower().endswith(_PROSE)
    lost = old is not None and new.count(b"\n") < old.count(b"\n")
    old_lines: frozenset[str] | None = None
    for start, line in _hinting_lines(new):
        if not leaves_out(line, _line_above(new, start), prose=prose, lost=lost):
            continue
        if old_lines is None:
            old_lines = frozenset(old_line.strip() for old_line in _decoded(old or b"").split("\n"))
        if line.strip() not in old_lines:
            return Placeholder(new.count(b"\n", 0, start) + 1, line.strip())
    return None


def _hinting_lines(content: bytes) -> Iterator[tuple[int, str]]:
    """Yield possible placeholders, with their starts. Large files are not decoded as a whole."""
    end = -1
    for hint in HINT.finditer(content):
        if hint.start() < end:
            continue  # in a line that was already yielded
        start = content.rfind(b"\n", 0, hint.start()) + 1
        end = content.find(b"\n", hint.start())
        line = content[start:] if end < 0 else content[start:end]
        end = start + len(line)
        if len(line) <= _LONGEST_ENCODED and len(text := _decoded(line)) <= _LONGEST:
            yield start, text


def _line_above(content: bytes, start: int) -> str:
    if start == 0:
        return ""
    end = start - 1
    return _decoded(content[content.rfind(b"\n", 0, end) + 1 : end])


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def leaves_out(line: str, above: str = "", *, prose: bool = False, lost: bool = False) -> bool:
    """Return whether `line`, which follows the line `above`, stands for left-out code.

    `prose` is for files that are not code, `lost` for files with fewer lines than before.
    """
    line = NO_REST.sub("", line).lower().replace("\u2026", "...").strip()
    comment = _COMMENT_IN_PROSE.match(line) if prose else _COMMENT.match(line)
    if comment is None:
        return _UNCOMMENTED.fullmatch(line) is not None and is_usual(line) and says_omitted(line)
    text = _without_end(line[comment.end() :].lstrip())
    sign = comment["sign"]
    code = comment["code"].strip()
    if not _PLAIN.fullmatch(text) or _SPREAD.fullmatch(text) or (code and sign not in _BEHIND_CODE):
        return False
    if _begins_with_ellipsis(text):
        return _with_ellipsis(text, code, lost=lost)
    explains_code = code and not code.endswith("{")
    continues = sign not in _LONE and above.strip().startswith(sign)
    if explains_code or continues or not WORD.search(text):
        return False
    if _CLOSES.search(text):
        return is_usual(text) and HINT_WORD.search(text) is not None
    is_doubtful = sign in _DOUBTFUL or text.endswith(":")
    names = 1 if text.startswith(RESTS) else 0
    return not is_doubtful and says_omitted(text) and is_usual(text, names=names)


def _without_end(text: str) -> str:
    """Return the text of a comment without what ends it."""
    end = _END.match(text[::-1])
    return text[: len(text) - end.end()] if end else text


def _begins_with_ellipsis(text: str) -> bool:
    """Return whether a text begins with dots, or with `-- snip`, perhaps in brackets."""
    opening = _OPENING.match(text)
    before = opening[0] if opening else ""
    words = text[len(before) :]
    return words.startswith("..") or (words.startswith("snip") and before.rstrip().endswith("--"))


def _with_ellipsis(text: str, code: str, *, lost: bool) -> bool:
    """Check a comment that begins with an ellipsis: it probably does not explain `code`."""
    if not WORD.search(text):
        # It may be part of an example; where code is missing, it marks the place.
        return lost and not code
    if HINT_WORD.search(text):
        return is_usual(text, names=2 if _CLOSES.search(text) else 1)
    return not code and is_usual(text)
