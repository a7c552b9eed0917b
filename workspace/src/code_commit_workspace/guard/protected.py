"""Protect names, existing or not, in every spelling that some file system treats as the same."""

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
            by_name = self._anywhere if entry.anywhere else self._at_root
            by_name[folded(entry.name)] = entry
            if short := _short_forms(entry.name):
                self._short.append((re.compile(short), entry))
        self.names = frozenset({*self._anywhere, *self._at_root})
        """The names in lower case, also those that are protected only at the root."""
        self._in_folder = lru_cache(maxsize=4096)(self._look)  # many paths share a folder

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - absent ones count too
        """Refuse protected files and everything below protected folders.

        Also refuse names that can be mistaken for either.
        """
        for change in changes:
            match = self.find(change.path)
            if match is None:
                continue
            entry, part = match
            if str(entry) == change.path:
                reason = "Responses cannot change it."
            else:
                reason = f"Responses cannot change {entry}."
            if part != entry.name:
                reason = f"{quote(part)} can be mistaken for {quote(entry.name)}. {reason}"
            yield Refusal(change.path, self.name, reason)

    def find(self, path: str) -> tuple[Protected, str] | None:
        """Return the first protected name in `path`, and the part of the path that matches it."""
        folder, slash, name = path.rpartition("/")
        if slash and (match := self._in_folder(folder)) is not None:
            return match
        if not _ORDINARY.fullmatch(name):
            return self._look(name, at_root=not slash)
        key = name.lower()
        entry = self._anywhere.get(key)
        if entry is None and not slash:
            entry = self._at_root.get(key)
        if entry is None:
            return None
        return entry, name

    def _look(self, path: str, *, at_root: bool = True) -> tuple[Protected, str] | None:
        """Look for the parts of `path` in every spelling; `at_root` is about the first part."""
        for part in _split(path):
            entry = self._entry(_key(part), at_root=at_root)
            if entry is not None:
                return entry, part
            at_root = False
        return None

    def _entry(self, key: str, *, at_root: bool) -> Protected | None:
        entry = self._anywhere.get(key)
        if entry is None and at_root:
            entry = self._at_root.get(key)
        if entry is None and "~" in key:
            for short, long_entry in self._short:
                if (long_entry.anywhere or at_root) and short.fullmatch(key):
                    return long_entry
        return entry


@lru_cache(maxsize=4096)
def _key(part: str) -> str:
    return _as_windows_opens(folded(part))


def _split(path: str) -> list[str]:
    """Split `path`, also at compatible forms of a separator such as U+FF0F."""
    if path.isascii():
        return _SEPARATOR.split(path)
    parts = []
    for part in _SEPARATOR.split(path):
        pieces = _SEPARATOR.split(unicodedata.normalize("NFKC", part))
        if len(pieces) > 1:
            parts += pieces
        else:
            parts.append(part)
    return parts


def _as_windows_opens(part: str) -> str:
    """Remove what Windows ignores: the name of a stream, trailing dots and blanks.

    Also remove leading blanks, which some other system may ignore.
    """
    return part.partition(":")[0].rstrip(". ").strip()


def _short_forms(name: str) -> str | None:
    """Return a pattern for the 8.3 names that NTFS gives to `name`.

    Return None if `name` is itself an 8.3 name.
    """
    base, dot, extension = folded(name).lstrip(".").partition(".")
    if not name.startswith(".") and len(base) <= 8 and len(extension) <= 3:  # noqa: PLR2004 - 8.3
        return None
    digits = "1" if name == ".git" else _SHORT_DIGITS
    beginning = re.escape(base[:6])
    end = re.escape(dot + extension[:3])
    short = f"{beginning}~{digits}{end}"
    if name in _HASHED:
        return f"{short}|{_HASHED[name]}"
    return short
