"""The code of a prompt that does not have all of it: whole files, and a map of others.

Together they never have more than a number of tokens, by `estimate_tokens`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from code_commit.plugin_api import count_of, estimate_tokens, printable, shorten
from code_commit_commit.left_out import may_be_secret
from code_commit_commit.rollup_text import LARGEST, Rollup, add

if TYPE_CHECKING:
    from code_commit_commit.hooks import Project, Selection

LABEL = "other files"  # of the map
_LABEL_TOKENS = 6
_NOT_OFFERED = "It is not among the files to choose from."
NOT_TEXT = "It cannot be read as UTF-8 text."
_AT_ONCE = 64  # files
_MOST_BYTES = 12  # of a token: a larger file is not read to learn that it does not fit
_LEAST = 8  # tokens of a file with its header
_MOST_MISSES = 2000  # files in succession that do not fit
_LONGEST_NAME = 80  # characters of a name in the map


class _File(NamedTuple):
    content: bytes
    tokens: int


class SelectedCode:
    """The files that a model sees whole, best first, and the map of others.

    `paths` are the files to choose from, sorted. `limit` is the most tokens of files and map.
    """

    def __init__(self, project: Project, paths: Sequence[str], limit: int) -> None:
        self._project = project
        self.paths = paths
        self.offered = frozenset(paths)
        self.limit = limit
        self.tokens = 0  # of files and map
        self._files: dict[str, _File] = {}
        self._map: dict[str, tuple[str, int]] = {}  # lines, with their tokens

    def copy(self) -> SelectedCode:
        """Return the same, to which other files can be added."""
        code = copy(self)
        code._files = dict(self._files)  # noqa: SLF001 - of this class
        code._map = dict(self._map)  # noqa: SLF001 - likewise
        return code

    @property
    def contents(self) -> dict[str, bytes]:
        """The files that are shown whole, best first."""
        return {path: file.content for path, file in self._files.items()}

    @property
    def total(self) -> int:
        """How many files there are: those to choose from, and others that are shown."""
        return len(self.offered) + len(self._files.keys() - self.offered)

    @property
    def mapped(self) -> list[str]:
        """The paths in the map."""
        return list(self._map)

    @property
    def map(self) -> str:
        """The map: a line for each file, with its path and the names that it defines."""
        return "".join(line for line, _ in self._map.values())

    def rollup(self) -> tuple[bytes, Rollup]:
        """Return the text of the files as a rollup has it, sorted by path, and their places."""
        rollup = Rollup()
        text = add(sorted(self.contents.items()), rollup)
        return text, rollup

    def show(self, paths: Iterable[str]) -> dict[str, str]:
        """Show these files, whether or not they are to choose from. Return why some cannot be."""
        return self._add([path for path in paths if path not in self._files], self.limit)

    def select(self, selection: Selection) -> dict[str, str]:
        """Add the files of a selection in its order, then its map, while they fit.

        Skip files that do not fit. Return why others cannot be shown.
        """
        chosen = dict.fromkeys((*selection.paths, *selection.map))
        unusable = {path: _NOT_OFFERED for path in chosen if path not in self.offered}
        unusable |= self._fill(
            path
            for path in dict.fromkeys(selection.paths)
            if path in self.offered and path not in self._files
        )
        self.add_to_map(
            {path: names for path, names in selection.map.items() if path in self.offered}
        )
        return unusable

    def add_to_map(self, names_by_path: Mapping[str, Sequence[str]]) -> None:
        """Add lines to the map while they fit."""
        for path, names in names_by_path.items():
            if path in self._files or path in self._map:
                continue
            line = _map_line(path, names)
            if not self._add_line(path, line, estimate_tokens(line)):
                return

    def show_more(
        self,
        paths: Sequence[str],
        kept: Collection[str],
        most: int | None = None,
    ) -> dict[str, str]:
        """Show further files of `most` tokens, which come first. Return why some cannot be shown.

        Those of the lowest rank give way, unless they fit beside those of a higher rank, then the
        end of the map; files in `kept` do not.
        """
        before = self._files
        tokens_of_map = self.tokens - sum(file.tokens for file in before.values())
        self._files = {path: file for path, file in before.items() if path in kept}
        self.tokens = sum(file.tokens for file in self._files.values())
        limit = self.limit if most is None else min(self.limit, self.tokens + most)
        unusable = self._add([path for path in paths if path not in self._files], limit)
        rest = {path: file for path, file in before.items() if path not in self._files}
        size = sum(file.tokens for file in rest.values())
        dropped: list[str] = []
        while rest and self.tokens + size + tokens_of_map > self.limit:
            path, file = rest.popitem()
            dropped.append(path)
            size -= file.tokens
        for path in reversed(dropped):
            file = before[path]
            if self.tokens + size + file.tokens + tokens_of_map <= self.limit:
                rest[path] = file
                size += file.tokens
        dropped = [path for path in dropped if path not in rest]
        self._files |= rest
        self.tokens += size
        lines, self._map = self._map, {}
        self.add_to_map(dict.fromkeys(reversed(dropped), ()))
        for path, (line, tokens) in lines.items():
            if path not in self._files:
                self._add_line(path, line, tokens)
        return unusable

    def _add_line(self, path: str, line: str, tokens: int) -> bool:
        """Add a line to the map if it fits. The first one needs the label, too."""
        tokens_of_label = 0 if self._map else _LABEL_TOKENS
        if self.tokens + tokens_of_label + tokens > self.limit:
            return False
        self._map[path] = line, tokens
        self.tokens += tokens_of_label + tokens
        return True

    def _add(self, paths: Sequence[str], limit: int) -> dict[str, str]:
        """Add files up to `limit` tokens of all. Return why some cannot be shown."""
        unusable: dict[str, str] = {}
        for path in paths:
            if reason := self.why_not(path):
                unusable[path] = reason
                continue
            file = _file(path, self._project.tree.read(path) or b"")
            if file is None:
                unusable[path] = NOT_TEXT
            elif self.tokens + file.tokens > limit:
                size = f"about {count_of(file.tokens, 'token')}"
                unusable[path] = f"It has {size}, and does not fit into {limit:,}."
            else:
                self._files[path] = file
                self.tokens += file.tokens
        return unusable

    def why_not(self, path: str) -> str:
        """Return why a model may not see a file, or an empty text."""
        tree = self._project.tree
        try:
            if refusal := self._project.may_read(path):
                return refusal.reason
            if may_be_secret(path, tree):
                return "It may contain secrets."
            if tree.read(path, 1) is None:
                return "There is no such file."
            if tree.size(path) > LARGEST:
                return "It is larger than 16 MiB."
        except (OSError, ValueError):
            return "It cannot be read."
        return ""

    def _fill(self, paths: Iterable[str]) -> dict[str, str]:
        """Add files while they fit; skip others. Return those that are no text."""
        unusable: dict[str, str] = {}
        misses = 0
        for path, content in self._contents(paths):
            file = None
            if content is not None:
                file = _file(path, content)
            if file is None:
                unusable[path] = NOT_TEXT
            elif self.tokens + file.tokens <= self.limit:
                self._files[path] = file
                self.tokens += file.tokens
                misses = 0
                continue
            misses += 1
            if misses > _MOST_MISSES or self.limit - self.tokens < _LEAST:
                break
        return unusable

    def _contents(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield the contents of files that may fit: a group of them is read at once."""
        tree = self._project.tree
        group: list[str] = []
        for path in paths:
            if tree.size(path) <= (self.limit - self.tokens) * _MOST_BYTES:
                group.append(path)
            if len(group) == _AT_ONCE:
                yield from tree.contents(group, LARGEST)
                group = []
        yield from tree.contents(group, LARGEST)


def _file(path: str, content: bytes) -> _File | None:
    """Return a file with the tokens that it has in a rollup, or None if it is no text."""
    rollup = Rollup()
    text = add([(path, content)], rollup)
    if not rollup.files:
        return None
    return _File(content, estimate_tokens(text.decode()))


def _map_line(path: str, names: Sequence[str]) -> str:
    """Return a line of the map. Paths and names may be hostile."""
    shown = printable(path, newlines=False)
    if not names:
        return f"{shown}\n"
    words = (shorten(printable(name, newlines=False), _LONGEST_NAME) for name in names)
    return f"{shown}: {', '.join(words)}\n"
