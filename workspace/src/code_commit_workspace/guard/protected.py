"""Names that no response may touch, in any spelling that some file system takes for them, whether they exist or not."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from code_commit_workspace.guard.names import quote
from code_commit_workspace.protected import PROTECTED, Protected
from code_commit_workspace.records import Change, Refusal, Tree

# Unicode's Default_Ignorable_Code_Point; HFS+ ignores some of them in names.
_IGNORABLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SEPARATOR = re.compile(r"[/\\]")
_SHORT_DIGITS = "[1-4]"  # after four names with the same beginning, NTFS puts a hash in place of the name
_HASHED = {".gitignore": "gi250a~[1-9]"}  # the one that git knows and refuses


class ProtectedNames:
    """Finds protected names in paths. Paths need not exist, and need not be well-formed."""

    name = "protected"

    def __init__(self, protected: Iterable[Protected] = PROTECTED) -> None:
        self._anywhere: dict[str, Protected] = {}
        self._at_root: dict[str, Protected] = {}
        self._short: list[tuple[re.Pattern[str], Protected]] = []
        for entry in protected:
            (self._anywhere if entry.anywhere else self._at_root)[folded(entry.name)] = entry
            if short := _short_forms(entry.name):
                self._short.append((re.compile(short), entry))

    def judge(self, change: Change, tree: Tree) -> Refusal | None:  # noqa: ARG002 - absent files are protected too
        """Refuse what is, or what some file system takes for, a protected file or something below it."""
        found = self.find(change.path)
        if found is None:
            return None
        entry, part = found
        alike = "" if part == entry.name else f"{quote(part)} can be taken for {quote(entry.name)}. "
        return Refusal(change.path, self.name, f"{alike}No response may change {entry}.")

    def find(self, path: str) -> tuple[Protected, str] | None:
        """Return the first protected name in `path`, with the part of the path that is taken for it."""
        parts = _SEPARATOR.split(path) if path.isascii() else _parts(path)
        for index, part in enumerate(parts):
            key = _key(part)
            entry = self._anywhere.get(key) or (self._at_root.get(key) if index == 0 else None)
            if entry is None and "~" in key:
                entry = next(
                    (e for short, e in self._short if short.fullmatch(key) and (e.anywhere or not index)), None
                )
            if entry is not None:
                return entry, part
        return None


@lru_cache(maxsize=4096)
def _key(part: str) -> str:
    return _as_windows_opens(folded(part))


def folded(text: str) -> str:
    """Return `text` as the most lenient of file systems compares it: one form, one case, nothing ignorable."""
    if text.isascii():
        return text.lower()
    once = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text)).casefold()
    return _IGNORABLE.sub("", unicodedata.normalize("NFKC", once))


def _parts(path: str) -> list[str]:
    """Cut `path` also where a compatible form of a separator stands, such as U+FF0F."""
    parts = []
    for part in _SEPARATOR.split(path):
        pieces = _SEPARATOR.split(unicodedata.normalize("NFKC", part))
        parts += pieces if len(pieces) > 1 else [part]
    return parts


def _as_windows_opens(part: str) -> str:
    """Drop a stream's name and what stands at the end; blanks at the front too, in case somebody trims."""
    return part.partition(":")[0].rstrip(". ").strip()


def _short_forms(name: str) -> str | None:
    """Return a pattern for the 8.3 names that NTFS gives to `name`, or None if it is one itself."""
    base, dot, extension = folded(name).lstrip(".").partition(".")
    if not name.startswith(".") and len(base) <= 8 and len(extension) <= 3:  # noqa: PLR2004 - 8.3
        return None
    digits = "1" if name == ".git" else _SHORT_DIGITS
    short = re.escape(base[:6]) + "~" + digits + (re.escape(dot + extension[:3]))
    return f"{short}|{_HASHED[name]}" if name in _HASHED else short
