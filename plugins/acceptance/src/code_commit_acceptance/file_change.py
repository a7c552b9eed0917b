"""One changed file, as it was before the run and as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from code_commit_acceptance.languages import Kind, Language, kind_of, language_of

LONGEST_LINE = 2000
"""Characters of a line in which marks are searched; people write shorter ones."""


@dataclass(frozen=True)
class FileChange:
    """A change of one file. `old` is None for a new file, `new` for one that is deleted."""

    path: str
    old: bytes | None = field(repr=False)
    new: bytes | None = field(repr=False)

    @property
    def kind(self) -> Kind | None:
        """What the file checks, None if it is no check file."""
        return kind_of(self.path)

    @property
    def language(self) -> Language | None:
        """The language of the file."""
        return language_of(self.path)

    @cached_property
    def is_binary(self) -> bool:
        """Whether the file is no text."""
        return b"\0" in (self.old or b"") or b"\0" in (self.new or b"")

    @cached_property
    def old_text(self) -> str:
        """The text from before, empty if there is none."""
        return _text(self.old)

    @cached_property
    def new_text(self) -> str:
        """The present text, empty if there is none."""
        return _text(self.new)

    @cached_property
    def added(self) -> Sequence[str]:
        """The lines that are new, wherever they stand."""
        return _more(self.new_text, self.old_text)

    @cached_property
    def removed(self) -> Sequence[str]:
        """The lines that are gone from the file."""
        return _more(self.old_text, self.new_text)

    @cached_property
    def only_gained(self) -> bool:
        """Whether all of its old lines are there, in their order."""
        if self.new is None or self.is_binary:
            return False
        remaining = iter(self.new_text.splitlines())
        return all(line in remaining for line in self.old_text.splitlines())


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "replace")


def _more(text: str, than: str) -> list[str]:
    """Return the lines of `text` that occur there more often than in another text, cut."""
    lines = Counter(text.splitlines()) - Counter(than.splitlines())
    return [line[:LONGEST_LINE] for line in lines.elements()]
