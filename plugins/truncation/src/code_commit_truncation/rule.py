"""The path rule: compare a replacement with the file that it replaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from code_commit.plugin_api import Change, Refusal, Tree, count_of
from code_commit_truncation.placeholders import Placeholder, first_placeholder
from code_commit_truncation.settings import TruncationSettings

_WHOLE = "Give the whole file, every line of it."
_WHOLE_OR_AGAIN = (
    f"{_WHOLE.removesuffix('.')}; if it must be this short, give the same replacement again."
)
_WORD = re.compile(rb"\w")


class Truncation:
    """Sends back a replacement that shrinks a file too much, or has a comment in place of code.

    Lines that move to other files of the same response do not count as lost. A file that shrinks
    again, after it was sent back, is allowed with a warning.
    """

    name = "truncation"

    def __init__(self, settings: TruncationSettings) -> None:
        self._settings = settings
        self._sent_back: set[str] = set()  # files whose latest replacement shrinks them

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """Yield a refusal for each truncated replacement. Removing a file is always allowed."""
        gained: Counter[bytes] | None = None
        for change in changes:
            path = change.path
            new = change.content
            if new is None:
                continue
            old = _read(tree, path)
            if self._settings.placeholders and (placeholder := first_placeholder(path, old, new)):
                reason = f"{_left_out(placeholder)} {_WHOLE}"
                yield self._refusal(path, reason, "placeholders = false")
            if old is None or not self._shrinks(old, new):
                self._sent_back.discard(path)
                continue
            if gained is None:
                gained = _gained(changes, tree)
            if not self._shrinks(old, new, _lines_not_in(old, new) & gained):
                self._sent_back.discard(path)
            elif path in self._sent_back:
                yield Refusal(path, self.name, _too_small(old, new), then="warn")
            else:
                self._sent_back.add(path)
                reason = f"{_too_small(old, new)} {_WHOLE_OR_AGAIN}"
                yield self._refusal(path, reason, "shrink_below = 0")

    def _refusal(self, path: str, reason: str, setting: str) -> Refusal:
        allow = f"set plugins.truncation.{setting} to allow it (rule {self.name})"
        hint = f"{allow}, or ask for a smaller change"
        return Refusal(path, self.name, reason, then="repair", hint=hint)

    def _shrinks(self, old: bytes, new: bytes, moved: Counter[bytes] | None = None) -> bool:
        lines = _count(new)
        size = len(new)
        if moved:
            lines += moved.total()
            size += sum((len(line) + 1) * count for line, count in moved.items())
        share = self._settings.shrink_below
        old_lines = _count(old)
        if old_lines < self._settings.shrink_from_lines:
            return False
        # Check both, because fewer lines may contain the same code in another layout.
        return lines < share * old_lines and size < share * len(old)


def _too_small(old: bytes, new: bytes) -> str:
    return f"The replacement has {_size(new)} where the file has {_size(old)}."


def _size(content: bytes) -> str:
    return f"{count_of(_count(content), 'line')} and {count_of(len(content), 'byte')}"


def _left_out(placeholder: Placeholder) -> str:
    line = placeholder.line
    text = placeholder.text
    return f"Line {line} of the replacement replaces code that was left out: `{text}`."


def _count(content: bytes) -> int:
    return content.count(b"\n") + (content[-1:] not in {b"", b"\n"})


def _read(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path)
    except OSError:
        return None  # a file and a folder may swap places; other rules check the path


def _gained(changes: Sequence[Change], tree: Tree) -> Counter[bytes]:
    """Return the lines that occur more often in the files of a response than before."""
    gained: Counter[bytes] = Counter()
    for change in changes:
        if change.content:
            gained.update(_lines_not_in(change.content, _read(tree, change.path) or b""))
    return gained


def _lines_not_in(content: bytes, base: bytes) -> Counter[bytes]:
    return _lines(content) - _lines(base)


def _lines(content: bytes) -> Counter[bytes]:
    """Count the non-blank lines without indentation: moved code may be indented differently."""
    return Counter(line.strip() for line in content.split(b"\n") if _WORD.search(line))
