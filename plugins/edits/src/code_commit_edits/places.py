"""Find many texts in a file at once, line by line: the algorithm of Aho and Corasick.

It takes linear time in the lines of the file and of the texts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

_MOST = 2  # places of a text: more do not matter


def find_places(texts: Sequence[Sequence[bytes]], lines: Iterable[bytes]) -> list[list[int]]:
    """Return for each of `texts` the index of the line where it begins, at most two of them.

    Each text has at least one line.
    """
    automaton = _Automaton(dict.fromkeys(map(tuple, texts)))
    automaton.read(lines)
    return [automaton.places[tuple(text)] for text in texts]


class _Automaton:
    """A trie of texts, whose nodes are numbers; the root is 0.

    `_shorter` has the node of the longest proper suffix that is also a node, and `_ending` the
    longest such suffix that is a text, for each node.
    """

    def __init__(self, texts: Iterable[tuple[bytes, ...]]) -> None:
        self.places: dict[tuple[bytes, ...], list[int]] = {}
        self._next: list[dict[bytes, int]] = [{}]
        self._text: list[tuple[bytes, ...]] = [()]  # that ends at the node, if one does
        for text in texts:
            self._add(text)
        self._shorter = [0] * len(self._next)
        self._ending = [0] * len(self._next)
        self._link()

    def read(self, lines: Iterable[bytes]) -> None:
        """Find the places of all texts in `lines`."""
        node = 0
        for index, line in enumerate(lines):
            node = self._step(node, line)
            if not node:
                continue
            end = self._open(node if self._text[node] else self._ending[node])
            while end:
                text = self._text[end]
                self.places[text].append(index + 1 - len(text))
                end = self._open(self._ending[end])

    def _add(self, text: tuple[bytes, ...]) -> None:
        node = 0
        for line in text:
            following = self._next[node].get(line)
            if following is None:
                following = len(self._next)
                self._next[node][line] = following
                self._next.append({})
                self._text.append(())
            node = following
        self._text[node] = text
        self.places[text] = []

    def _link(self) -> None:
        """Link each node to its shorter ones, from the root on."""
        nodes = deque(self._next[0].values())
        while nodes:
            node = nodes.popleft()
            for line, following in self._next[node].items():
                shorter = self._step(self._shorter[node], line)
                self._shorter[following] = shorter
                self._ending[following] = shorter if self._text[shorter] else self._ending[shorter]
                nodes.append(following)

    def _step(self, node: int, line: bytes) -> int:
        """Return the node of the longest text that `line` continues or begins."""
        while node and line not in self._next[node]:
            node = self._shorter[node]
        return self._next[node].get(line, 0)

    def _open(self, node: int) -> int:
        """Return the node of the first text from `node` on that may have more places.

        The way is shortened for the next time, so that texts within texts cost no more.
        """
        passed = []
        while node and len(self.places[self._text[node]]) == _MOST:
            passed.append(node)
            node = self._ending[node]
        for full in passed:
            self._ending[full] = node
        return node
