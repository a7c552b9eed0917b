"""The path rule: what a replacement has lost, compared with the file that it replaces."""

from __future__ import annotations

from collections.abc import Iterator

from code_commit.plugin_api import Change, Refusal, Tree
from code_commit_truncation.placeholders import Placeholder, first_placeholder
from code_commit_truncation.settings import TruncationSettings


class Truncation:
    """Sends back a replacement that shrinks a file too far, or that holds a comment in place of code."""

    name = "truncation"

    def __init__(self, settings: TruncationSettings) -> None:
        self._settings = settings

    def judge(self, change: Change, tree: Tree) -> Refusal | None:
        """Return what is missing from the new content; removing a file is always fine."""
        if change.content is None:
            return None
        try:
            old = tree.read(change.path)
        except OSError:
            old = None  # a file and a folder may swap places; whether this path is one is for other rules to say
        reasons = tuple(self._reasons(change.path, old, change.content))
        if not reasons:
            return None
        told = " ".join([*reasons, "Give the whole file, every line of it."])
        return Refusal(change.path, self.name, told, then="repair")

    def _reasons(self, path: str, old: bytes | None, new: bytes) -> Iterator[str]:
        if old is not None and self._shrinks(old, new):
            yield (
                f"The replacement has {_lines(new)} lines and {len(new)} bytes where the file has {_lines(old)} lines "
                f"and {len(old)} bytes, which is less than plugins.truncation.shrink_below = "
                f"{self._settings.shrink_below:g} allows."
            )
        found = first_placeholder(path, old, new) if self._settings.placeholders else None
        if found is not None:
            yield _told(found)

    def _shrinks(self, old: bytes, new: bytes) -> bool:
        # Both, for fewer lines may hold the same code in another layout.
        least, lines = self._settings.shrink_below, _lines(old)
        return lines >= self._settings.shrink_from_lines and _lines(new) < least * lines and len(new) < least * len(old)


def _told(found: Placeholder) -> str:
    return f"Line {found.line} of the replacement stands in place of code that was left out: `{found.text}`."


def _lines(content: bytes) -> int:
    return content.count(b"\n") + (content[-1:] not in {b"", b"\n"})
