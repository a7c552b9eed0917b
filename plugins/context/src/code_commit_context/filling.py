"""Fill a budget of tokens with whole files, and with the map of the next ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from code_commit.plugin_api import estimate_tokens
from code_commit_context.definitions import defined_names
from code_commit_context.kinds import is_code
from code_commit_context.scan import LARGEST, is_text

if TYPE_CHECKING:
    from code_commit.plugin_api import Tree

# A line of the map needs far fewer tokens than a file: this much less for whole files hardly
# matters, and nearly every file that the change needs is named. See docs/context.md.
_WHOLE = 0.92
_MOST_BYTES = 8  # of a token: a larger file is not read to learn that it does not fit
_LEAST = 16  # tokens that are worth a look for a file that fits
_MISSES = 200  # files in succession that do not fit
_AT_ONCE = 32  # files
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
        for path, content in self._contents(paths, keep):
            tokens = self._left + 1
            if content is not None and is_text(content):
                tokens = tokens_of(path, content)
            line = self._lines.get(path, 0)
            if tokens - line <= self._left - keep:
                self._left -= tokens - line
                self.map.pop(path, None)
                self.whole.append(path)
                misses = 0
            else:
                misses += 1
            if misses > _MISSES or self._left - keep < _LEAST:
                return

    def _contents(self, paths: Sequence[str], keep: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield the contents of those of `paths` that may fit; read some at once."""
        group: list[str] = []
        for path in paths:
            if self._sizes[path] <= (self._left - keep) * _MOST_BYTES:
                group.append(path)
            if len(group) == _AT_ONCE:
                yield from self._tree.contents(group, LARGEST)
                group = []
        yield from self._tree.contents(group, LARGEST)


def map_line(path: str, names: Sequence[str]) -> str:
    """Return the line of a file in a map."""
    if not names:
        return f"{path}\n"
    return f"{path}: {', '.join(names)}\n"


def tokens_of(path: str, content: bytes) -> int:
    """Return the tokens of a file in a prompt, with its header."""
    text = f"--- {path} ---\n{content.decode()}"
    if not text.endswith("\n"):
        text += "\n"
    return estimate_tokens(text)
