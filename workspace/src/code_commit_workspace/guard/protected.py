"""Protect names, existing or not, in every spelling that some file system treats as the same name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from code_commit_workspace.files.folding import folded
from code_commit_workspace.guard.names import quote
from code_commit_workspace.records import Change, Protected, Refusal, Tree

_SEPARATOR = re.compile(r"[/\\]")
# No file system treats it as another name, except for case.
_ORDINARY = re.compile(r"[\w.+-]*[\w+-]", re.ASCII)
_SHORT_DIGITS = "[1-4]"  # after four names with the same beginning, NTFS uses a hash instead
_HASHED = {".gitignore": "gi250a~[1-9]"}  # git refuses this one, too


class ProtectedNames:
    """Finds protected names in paths. A path need not exist or be well-formed."""

    name = "protected"

    def __init__(self, protected: Iterable[Protected]) -> None:
        self._anywhere: dict[str, Protected] = {}
        self._at_root: dict[str, Protected] = {}
        self._short: list[tuple[re.Pattern[str], Protected]] = []
        for entry in protected:
            (self._anywhere if entry.anywhere else self._at_root)[folded(entry.name)] = entry
            if short := _short_forms(entry.name):
                self._short.append((re.compile(short), entry))
        self.names = frozenset({*self._anywhere, *self._at_root})
        """The names in lower case, those that are protected only at the root included."""
        self._in_folder = lru_cache(maxsize=4096)(self._look)  # many paths share one

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - absent ones count too
        """Refuse protected files, everything below protected folders, and names that can be
        mistaken for either.
        """
        for change in changes:
            if (found := self.find(change.path)) is not None:
                entry, part = found
                alike = (
                    ""
                    if part == entry.name
                    else f"{quote(part)} can be mistaken for {quote(entry.name)}. "
                )
                what = "it" if str(entry) == change.path else entry
                yield Refusal(change.path, self.name, f"{alike}Responses cannot change {what}.")

    def find(self, path: str) -> tuple[Protected, str] | None:
        """Return the first protected name in `path`, and the part of the path that matches it."""
        folder, slash, name = path.rpartition("/")
        if slash and (found := self._in_folder(folder)) is not None:
            return found
        if _ORDINARY.fullmatch(name):
            entry = self._anywhere.get(name.lower()) or (
                None if slash else self._at_root.get(name.lower())
            )
            return None if entry is None else (entry, name)
        return self._look(name, at_root=not slash)

    def _look(self, path: str, *, at_root: bool = True) -> tuple[Protected, str] | None:
        for part in _SEPARATOR.split(path) if path.isascii() else _split(path):
            key = _key(part)
            entry = self._anywhere.get(key) or (self._at_root.get(key) if at_root else None)
            if entry is None and "~" in key:
                entry = next(
                    (
                        e
                        for short, e in self._short
                        if short.fullmatch(key) and (e.anywhere or at_root)
                    ),
                    None,
                )
            if entry is not None:
                return entry, part
            at_root = False
        return None


@lru_cache(maxsize=4096)
def _key(part: str) -> str:
    return _as_windows_opens(folded(part))


def _split(path: str) -> list[str]:
    """Split `path`, also at compatible forms of a separator such as U+FF0F."""
    parts = []
    for part in _SEPARATOR.split(path):
        pieces = _SEPARATOR.split(unicodedata.normalize("NFKC", part))
        parts += pieces if len(pieces) > 1 else [part]
    return parts


def _as_windows_opens(part: str) -> str:
    """Remove the name of a stream, trailing dots and blanks, and leading blanks, which some system
    may trim.
    """
    return part.partition(":")[0].rstrip(". ").strip()


def _short_forms(name: str) -> str | None:
    """Return a pattern for the 8.3 names that NTFS gives to `name`; None if `name` is itself an 8.3
    name.
    """
    base, dot, extension = folded(name).lstrip(".").partition(".")
    if not name.startswith(".") and len(base) <= 8 and len(extension) <= 3:  # noqa: PLR2004 - 8.3
        return None
    digits = "1" if name == ".git" else _SHORT_DIGITS
    short = re.escape(base[:6]) + "~" + digits + (re.escape(dot + extension[:3]))
    return f"{short}|{_HASHED[name]}" if name in _HASHED else short
