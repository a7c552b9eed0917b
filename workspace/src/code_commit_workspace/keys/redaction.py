"""Remove live keys from everything that leaves the program: logs, terminal, JSON, prompts, file
names.

`key_search` finds them, in all forms of `key_forms`. A key is replaced by `***` and its last two
characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from code_commit_workspace.keys.key_search import KeySearch
    from code_commit_workspace.keys.view import Span

_SHORTEST_KEY = 8
_KEY_ENDINGS = ("_KEY", "_TOKEN", "_SECRET")  # of names of variables
_PIECE = 1 << 18  # bytes to search at once, which bounds memory


class Redactor:
    """Removes live keys. Without keys, everything passes unchanged, at no cost.

    All methods take linear time and are thread-safe.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._keys: frozenset[str] = frozenset()
        self._built: tuple[frozenset[str], KeySearch | None] = (self._keys, None)
        for key in keys:
            self.add(key)

    @property
    def search(self) -> KeySearch | None:
        """The search for the live keys; None without keys.

        It is built when it is used: keys come one by one.
        """
        keys, search = self._built
        if keys is not self._keys:
            from code_commit_workspace.keys.key_search import KeySearch

            keys = self._keys
            search = KeySearch(sorted(keys))
            self._built = (keys, search)  # at once, so that other threads always see a complete one
        return search

    def add(self, key: str) -> None:
        """Add a live key: at least 8 characters of printable ASCII.

        Raises:
            ValueError: it is shorter, and replacing it would damage clean text, or has other
                characters.
        """
        if len(key) < _SHORTEST_KEY or not (key.isascii() and key.isprintable()):
            raise ValueError("a key is at least 8 characters of printable ASCII")
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
        """Return where live keys are in `data`, and the replacement of each, by position; they may
        overlap.
        """
        search = self.search
        return [] if search is None else search.spans(data, at_line_start=at_line_start)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int = 1) -> int:
        """Return where in `data` a live key begins that may continue in later data; `len(data)` if
        nowhere.

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
        return self._redacted(text.encode("utf-8", "surrogatepass")).decode(
            "utf-8", "surrogatepass"
        )

    def data(self, data: bytes) -> bytes:
        """Return `data` without any live key; bytes that are not text stay as they are."""
        return self._redacted(data) if self.holds_key(data) else data

    def json(self, value: Any) -> Any:
        """Return the JSON `value` without any live key in its strings and object names."""
        if self.search is None:
            return value
        return self._json(value)

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._json(name): self._json(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._json(item) for item in value]
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
        return frozenset(
            span.mark for piece in _pieces(data, search.reach) for span in search.spans(piece)
        )

    def stream(self) -> RedactingStream:
        """Return a redactor for data in pieces; it finds keys across their borders."""
        return RedactingStream(self)

    def _redacted(self, data: bytes) -> bytes:
        stream = self.stream()
        pieces = [
            stream.feed(data[start : start + _PIECE]) for start in range(0, len(data), _PIECE)
        ]
        return b"".join((*pieces, stream.finish()))


class RedactingStream:
    """Redacts data in pieces. The joined output equals `Redactor.data` of the joined input.

    It holds back only a possible beginning of a key. `found` is whether it has seen a key.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.found = False
        self._held = b""
        self._done = 0  # bytes of `_held` that the returned output already covers
        self._at_line_start = True  # whether `_held` begins a line

    def feed(self, data: bytes) -> bytes:
        """Take the next piece and return what is final."""
        return self._next(self._held + data, is_last=False)

    def finish(self) -> bytes:
        """End the stream and return the rest."""
        return self._next(self._held, is_last=True)

    def _next(self, data: bytes, *, is_last: bool) -> bytes:
        search = self._redactor.search
        keep = len(data)
        shown: list[bytes] = []
        done = self._done
        if search is not None and data:
            if not is_last:
                keep = search.unfinished(data, at_line_start=self._at_line_start)
            for span in search.spans(data, at_line_start=self._at_line_start):
                if span.start >= keep:  # more data may make it longer
                    break
                self.found = True
                if span.start >= done:
                    shown += (data[done : span.start], span.mark)
                done = max(done, span.end)
        if done < keep:
            shown.append(data[done:keep])
        self._held = data[keep:]
        self._done = max(done - keep, 0)
        if keep:
            self._at_line_start = data[keep - 1 : keep] == b"\n"
        return b"".join(shown)


def _pieces(value: str | bytes, reach: int) -> Iterator[bytes]:
    """Yield `value` in pieces that overlap by `reach`."""
    for start in range(0, len(value), _PIECE):
        piece = value[start : start + _PIECE + reach]
        yield piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
