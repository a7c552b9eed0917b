"""Remove live keys from everything that leaves the program: logs, JSON, prompts, file names.

`key_search` finds them, in all forms of `key_forms`. A key is replaced by `***` and its last two
characters.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from code_commit_workspace.keys.key_search import JoinedSearch, KeySearch
    from code_commit_workspace.keys.view import Span

_SHORTEST_KEY = 8
_KEY_ENDINGS = ("_KEY", "_TOKEN", "_SECRET")  # of names of variables
_PIECE = 1 << 18  # bytes to search at once, which bounds memory


@lru_cache(maxsize=16)
def _search_for(keys: frozenset[str]) -> KeySearch:
    """Return a search for `keys`. To make one takes long, and redactors often have the same."""
    from code_commit_workspace.keys.key_search import KeySearch

    return KeySearch(sorted(keys))


class Redactor:
    """Removes live keys. Without keys, everything passes unchanged, at no cost.

    All methods take linear time and are thread-safe.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: frozenset[str] = frozenset()
        self._adding = threading.Lock()
        # The keys of the search, in batches, and the search.
        self._built: tuple[frozenset[str], tuple[frozenset[str], ...], JoinedSearch | None]
        self._built = (self._keys, (), None)
        for key in keys:
            self.add(key)

    @property
    def search(self) -> JoinedSearch | None:
        """The search for the live keys; None without keys.

        It is built when it is used: keys come one by one. Keys that come later are searched in a
        batch of their own, until there are as many as in the batch before.
        """
        searched, batches, search = self._built
        keys = self._keys  # once: another thread may add one
        if keys is not searched:
            from code_commit_workspace.keys.key_search import JoinedSearch

            new_keys = keys - searched
            older = list(batches)
            while older and len(older[-1]) <= len(new_keys):
                new_keys |= older.pop()
            batches = (*older, new_keys)
            search = JoinedSearch([_search_for(batch) for batch in batches])
            # At once, so that other threads always see a complete one.
            self._built = (keys, batches, search)
        return search

    def add(self, key: str) -> None:
        """Add a live key: at least 8 characters of printable ASCII.

        Raises:
            ValueError: it is shorter, and replacing it would damage clean text, or has other
                characters.
        """
        if len(key) < _SHORTEST_KEY or not (key.isascii() and key.isprintable()):
            raise ValueError("a key is at least 8 characters of printable ASCII")
        with self._adding:  # of two threads, neither may lose the key of the other
            if key not in self._keys:
                self._keys |= {key}

    def add_likely(self, environ: Mapping[str, str]) -> None:
        """Add the values of `environ` that may be keys, judging by the names of their variables.

        Use this only for error texts: the plugin that uses a key may not have declared its variable
        yet.
        """
        for name, value in environ.items():
            if name.endswith(_KEY_ENDINGS):
                with suppress(ValueError):
                    self.add(value.strip())

    @property
    def has_keys(self) -> bool:
        """Whether there is a live key."""
        return bool(self._keys)

    def spans(self, data: bytes, *, at_line_start: bool = True) -> list[Span]:
        """Return where live keys are in `data`, which may overlap, and the replacement of each."""
        search = self.search
        if search is None:
            return []
        return search.spans(data, at_line_start=at_line_start)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int = 1) -> int:
        """Return where in `data` a live key begins that later data may complete, or `len(data)`.

        A beginning with fewer than `at_least` characters does not count.
        """
        search = self.search
        if search is None:
            return len(data)
        return search.unfinished(data, at_line_start=at_line_start, at_least=at_least)

    def text(self, text: str) -> str:
        """Return `text` without any live key."""
        if not self.holds_key(text):
            return text
        redacted = self._redacted(text.encode("utf-8", "surrogatepass"))
        return redacted.decode("utf-8", "surrogatepass")

    def data(self, data: bytes) -> bytes:
        """Return `data` without any live key; bytes that are not text stay as they are."""
        if self.holds_key(data):
            return self._redacted(data)
        return data

    def json(self, value: Any) -> Any:
        """Return the JSON `value` without any live key in its strings and object names."""
        if self.search is None:
            return value
        return self._json(value)

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._json(name): self._json(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self._json(element) for element in value]
        return value

    def document(self, data: bytes) -> bytes:
        """Return `data` without any live key; redact JSON string by string.

        Without keys, return the same object.
        """
        if self.search is None:
            return data
        with suppress(ValueError, RecursionError):
            value = json.loads(data)
            redacted = self._json(value)
            if redacted != value:
                data = json.dumps(redacted, ensure_ascii=False).encode("utf-8", "surrogatepass")
        return self.data(data)

    def holds_key(self, value: str | bytes) -> bool:
        """Return whether `value` contains a live key, in any form."""
        search = self.search
        if search is None or len(value) < _SHORTEST_KEY:
            return False
        return any(map(search.finds, _pieces(value, search.reach)))

    def marks(self, data: bytes) -> frozenset[bytes]:
        """Return the replacements for the live keys in `data`; empty without keys."""
        search = self.search
        if search is None or not self.holds_key(data):
            return frozenset()
        marks: set[bytes] = set()
        for piece in _pieces(data, search.reach):
            marks.update(span.mark for span in search.spans(piece))
        return frozenset(marks)

    def stream(self) -> RedactingStream:
        """Return a redactor for data in pieces; it finds keys across their borders."""
        return RedactingStream(self)

    def _redacted(self, data: bytes) -> bytes:
        stream = self.stream()
        output: list[bytes] = []
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            output.append(stream.feed(piece))
        output.append(stream.finish())
        return b"".join(output)


class RedactingStream:
    """Redacts data in pieces. The joined output equals `Redactor.data` of the joined input.

    It holds back only a possible beginning of a key. `found_key` is whether it has seen a key.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.found_key = False
        self._pending = b""
        self._covered = 0  # bytes of `_pending` that the returned output already covers
        self._at_line_start = True  # whether `_pending` begins a line

    def feed(self, data: bytes) -> bytes:
        """Take the next piece and return what is final."""
        return self._next(self._pending + data, is_last=False)

    def finish(self) -> bytes:
        """End the stream and return what remains."""
        return self._next(self._pending, is_last=True)

    def _next(self, data: bytes, *, is_last: bool) -> bytes:
        """Return the output for `data` up to where it is final, and hold back its end."""
        search = self._redactor.search
        final = len(data)
        covered = self._covered
        output: list[bytes] = []
        if search is not None and data:
            if not is_last:
                final = search.unfinished(data, at_line_start=self._at_line_start)
            for span in search.spans(data, at_line_start=self._at_line_start):
                if span.start >= final:  # more data may make it longer
                    break
                self.found_key = True
                if span.start >= covered:
                    output += (data[covered : span.start], span.mark)
                covered = max(covered, span.end)
        if covered < final:
            output.append(data[covered:final])
        self._pending = data[final:]
        self._covered = max(covered - final, 0)
        if final:
            self._at_line_start = data[final - 1 : final] == b"\n"
        return b"".join(output)


def _pieces(value: str | bytes, reach: int) -> Iterator[bytes]:
    """Yield `value` in pieces that overlap by `reach`."""
    for start in range(0, len(value), _PIECE):
        piece = value[start : start + _PIECE + reach]
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "surrogatepass")
        yield piece
