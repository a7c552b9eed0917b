"""Fill a budget of tokens with whole files, and with the map of the next ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from code_commit.plugin_api import estimate_tokens, printable
from code_commit_context.definitions import defined_names
from code_commit_context.kinds import is_code
from code_commit_context.scan import LARGEST, is_text

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

# The rest is for the map. With more of it, whole files hold less; with less, large repositories
# are not named well enough. See docs/context.md.
_WHOLE = 0.9
_MOST_BYTES = 8  # of a token: a larger file is not read to learn that it does not fit
_MISSES = 20  # files in succession that do not fit: later ones are not worth their tokens
_READ = 16 * 1024  # bytes of a file, for its names


class Filling:
    """Files within `tokens`, by `estimate_tokens`: the whole ones, and the map. It is a hard limit.

    `sizes` are the bytes of all files.
    """

    def __init__(self, tree: Tree, sizes: Mapping[str, int], tokens: int) -> None:
        self._tree = tree
        self._sizes = sizes
        self._left = tokens
        self._lines: dict[str, int] = {}  # the tokens of each line of the map
        self.whole: list[str] = []
        self.map: dict[str, Sequence[str]] = {}

    def fill(self, paths: Sequence[str]) -> None:
        """Take `paths`, which are in order, while they fit: first whole, then in the map."""
        for_map = self._left - round(self._left * _WHOLE)
        self._add_whole(paths, keep=for_map)
        shown = set(self.whole)
        rest = [path for path in paths if path not in shown]
        self.add_to_map(rest)
        if len(self.map) == len(rest):
            self._add_whole(rest, keep=0)

    def add_to_map(self, paths: Sequence[str]) -> None:
        """Add lines for `paths` to the map until one does not fit."""
        for path in paths:
            names = self._names(path)
            tokens = estimate_tokens(map_line(path, names))
            if tokens > self._left:
                return
            self._left -= tokens
            self._lines[path] = tokens
            self.map[path] = names

    def _names(self, path: str) -> Sequence[str]:
        if not is_code(path):
            return ()
        try:
            beginning = self._tree.read(path, _READ) or b""
        except OSError:
            return ()
        return defined_names(beginning.decode("utf-8", "ignore"))

    def _add_whole(self, paths: Sequence[str], keep: int) -> None:
        """Add each of `paths` that fits, and leave `keep` tokens. A file replaces its line."""
        misses = 0
        for path in paths:
            room = self._left - keep + self._lines.get(path, 0)
            tokens = self._tokens_within(path, room)
            if tokens is None:
                misses += 1
                if misses > _MISSES:
                    return
                continue
            misses = 0
            self._left += self._lines.pop(path, 0) - tokens
            self.map.pop(path, None)
            self.whole.append(path)

    def _tokens_within(self, path: str, room: int) -> int | None:
        """Return the tokens of a file, or None if it has more than `room`, or is no text now."""
        if self._sizes[path] > room * _MOST_BYTES:
            return None
        for _, content in self._tree.contents([path], LARGEST):
            if content is not None and is_text(content):
                tokens = tokens_of(path, content)
                return tokens if tokens <= room else None
        return None


def map_line(path: str, names: Sequence[str]) -> str:
    """Return the line of a file in a map."""
    shown = printable(path, newlines=False)
    if not names:
        return f"{shown}\n"
    return f"{shown}: {', '.join(names)}\n"


def tokens_of(path: str, content: bytes) -> int:
    """Return the tokens of a file in a prompt, with its header."""
    text = f"--- {path} ---\n{content.decode()}"
    if not text.endswith("\n"):
        text += "\n"
    return estimate_tokens(text)
