"""Remove live keys from JSON texts that arrive one after the other, such as the events of a stream.

A key may be split over several of them: each piece is a string in a text of its own. So strings that belong together
are joined and searched, and a text that holds a piece of a key is replaced as a whole.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Hashable
from itertools import accumulate
from typing import Any

from code_commit_workspace.key_search import KeySearch
from code_commit_workspace.redaction import Redactor

_BEGINNING = 4  # characters that may begin a key hold an event back; fewer are of no use to anybody
_MOST_HELD = 4 * 1024 * 1024  # bytes; then what may begin a key counts as one
_MOST_CHANNELS = 1000  # a hostile service can make up names
_RELEASED = -1
_INSIDE = re.compile(  # of a JSON string
    rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*'
)
_STRING_BEGINS = re.compile(rb'"[^"\\\x00-\x1f]+" *: *"')
_PROBE = "a probe of the pattern"
_TRIED, _TRIED_AGAIN = 8, 32  # events in a row, and then each of how many, to find what they have in common


class EventRedactor:
    """Redacts JSON texts, called events, so that no key can be put together from the strings in several of them.

    It joins the strings of the same member name, and the texts that `add_text` groups. An event that holds a piece of
    a key becomes a JSON string with the mark of the key. An event that may hold one is held back until that is decided.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._search = redactor.search
        self._count = 0
        self._pending: deque[bytes] = deque()  # the latest events, as lines
        self._size = 0  # of these
        self._hidden: dict[int, bytes] = {}
        self._channels: dict[Hashable, _Channel] = {}
        hook = None if self._search is None else self._collect
        self._decoder = json.JSONDecoder(object_pairs_hook=hook, parse_constant=_refuse)
        self._pattern = (b"", b"", "")  # what events around their text have in common, and the text's member name
        self._before = b""
        self._others = 0  # events in a row without the pattern

    @property
    def count(self) -> int:
        """The number of events so far."""
        return self._count

    def add(self, data: bytes) -> None:
        """Take the next event. What is no JSON is taken as a string."""
        self._count += 1
        start, end, name = self._pattern
        line = data
        if not (start and data.startswith(start) and data.endswith(end) and self._add_plain(data, name)):
            line = self._parsed(data)
            if self._others < _TRIED or self._others % _TRIED_AGAIN == 0:
                self._pattern = _pattern(self._before, data) or self._pattern
            self._before = data
            self._others += 1
        self._pending.append(line)
        self._size += len(line)

    def _add_plain(self, data: bytes, name: str) -> bool:
        """Take an event that has the pattern, without parsing all of it; return False if there is more than a text."""
        text = data[len(self._pattern[0]) : len(data) - len(self._pattern[1])]
        if not text or not _INSIDE.fullmatch(text):
            return False
        try:
            self._put(name, json.loads(b'"%s"' % text) if b"\\" in text else text.decode())
        except UnicodeDecodeError:
            return False
        self._others = 0
        return True

    def _parsed(self, data: bytes) -> bytes:
        """Collect the strings of an event, and return its line."""
        line = data
        try:
            text = data.decode()
            value = self._decoder.decode(text)
            for string in _strings([value]):
                self._put("", string)
            if b"\n" in data or b"\r" in data:
                line = json.dumps(json.loads(text), separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            text = data.decode("utf-8", "backslashreplace")
            self._put("", text)
            line = json.dumps(text).encode()
        self._put(None, f"{text}\n")  # for keys in names, and in any one event
        return line

    def add_text(self, channel: Hashable, text: str) -> None:
        """Add `text`, which the latest event holds in some form, to the other texts of `channel`."""
        self._put((channel,), text)  # no name of a member

    def _put(self, channel: Hashable, text: str) -> None:
        if self._search is not None:
            self._channel(channel).texts.append((self._count - 1, text))

    def take(self, before: int | None = None) -> list[bytes]:
        """Return the events that are final, each as one line without its end.

        Only the first `before` events are final: the texts of later ones may not be known yet. Without it, no event
        and no text follows.
        """
        first = self._count - len(self._pending)
        if self._search is not None:
            for channel in self._channels.values():
                if channel.texts or before is None:
                    self._hidden |= channel.search(self._search, first, is_last=before is None)
            if self._size > _MOST_HELD:
                self._decide()
        ends = [channel.held[0] for channel in self._channels.values() if channel.held]
        end = min([self._count if before is None else before, *ends])
        lines = [self._line(number) for number in range(first, end)]
        self._hidden = {number: mark for number, mark in self._hidden.items() if number >= end}
        return lines

    def _line(self, number: int) -> bytes:
        line = self._pending.popleft()
        self._size -= len(line)
        return self._hidden.get(number, line)

    def _decide(self) -> None:
        """Hide what may hold a piece of a key: the pieces are too far apart to wait for the next one."""
        for channel in self._channels.values():
            self._hidden |= dict.fromkeys(channel.held, b'"***"')
            channel.held = []

    def _channel(self, name: Hashable) -> _Channel:
        if name not in self._channels and len(self._channels) >= _MOST_CHANNELS:
            name = ""
        found = self._channels.get(name)
        if found is None:
            found = self._channels[name] = _Channel()
        return found

    def _collect(self, pairs: list[tuple[str, Any]]) -> None:
        """Collect the strings of an object that was parsed."""
        number = self._count - 1
        for name, value in pairs:
            if type(value) is str:
                self._channel(name).texts.append((number, value))
            elif type(value) is list:
                for text in _strings(value):
                    self._channel(name).texts.append((number, text))


class _Channel:
    """Texts that belong together. `held` are the events that hold what may begin a key."""

    __slots__ = ("_at_line_start", "_owners", "_tail", "held", "texts")

    def __init__(self) -> None:
        self.texts: list[tuple[int, str]] = []  # new ones, with the number of the event
        self.held: list[int] = []
        self._tail = b""  # which may begin a key
        self._owners: list[tuple[int, int]] = []  # where the part of an event in the tail ends, and its number
        self._at_line_start = True

    def search(self, search: KeySearch, first: int, *, is_last: bool) -> dict[int, bytes]:
        """Search the new texts; return the events with pieces of keys, and what is shown instead.

        Events before `first` are not held any more.
        """
        pieces = [text.encode("utf-8", "surrogatepass") for _, text in self.texts]
        data = b"".join((self._tail, *pieces))
        spans = search.spans(data, at_line_start=self._at_line_start)
        keep = hold = len(data)
        line_start = self._at_line_start
        if not is_last:
            keep = search.unfinished(data, at_line_start=line_start)
            line_start = data[keep - 1 : keep] == b"\n" if keep else line_start
            hold = keep + search.unfinished(data[keep:], at_line_start=line_start, at_least=_BEGINNING)
        hidden: dict[int, bytes] = {}
        owners, self.held = [(len(data), _RELEASED)], []
        if spans or hold < len(data):
            ends = list(accumulate(map(len, pieces), initial=len(self._tail)))[1:]
            owners = [*self._owners, *zip(ends, [number for number, _ in self.texts], strict=True)]
            ends = [end for end, _ in owners]
            for span in spans:
                events = owners[bisect_right(ends, span.start) : bisect_left(ends, span.end) + 1]
                hidden |= {number: json.dumps(span.mark.decode()).encode() for _, number in events}
            self.held = sorted({number for _, number in owners[bisect_right(ends, hold) :] if number >= first})
        self._owners = [(end - keep, number) for end, number in owners if end > keep]
        self._tail, self._at_line_start, self.texts = data[keep:], line_start, []
        return hidden


def _pattern(one: bytes, other: bytes) -> tuple[bytes, bytes, str] | None:
    """Return what two events have before and after a text, and the name of its member; None if there is no pattern.

    Whatever has this before and after the inside of a JSON string is the same JSON with another string.
    """
    common = bisect_left(range(min(len(one), len(other))), True, key=lambda at: one[: at + 1] != other[: at + 1])
    *_, begin = 0, *(found.end() for found in _STRING_BEGINS.finditer(other, 0, common))
    close = other.find(b'"', begin)
    start, end = other[:begin], other[close:]
    if not start or close < 0 or not one.endswith(end):
        return None
    names: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> None:
        names.extend(name for name, value in pairs if value == _PROBE)

    try:
        json.loads(start + _PROBE.encode() + end, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return None
    return (start, end, names[0]) if len(names) == 1 else None


def _strings(values: list[Any]) -> list[str]:
    """Return the strings in nested lists."""
    found: list[str] = []
    remaining = deque(values)
    while remaining:
        value = remaining.popleft()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            remaining.extendleft(reversed(value))
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
