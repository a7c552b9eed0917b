"""Remove live keys from a sequence of JSON texts, such as the events of a stream.

A key may be split over several texts, with one piece in each. So strings that belong together are
joined and searched, and a text that contains a piece of a key is replaced as a whole.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

from code_commit_workspace import Redactor

# An event that ends with this many characters of a key is held back; fewer reveal too little.
_BEGINNING = 4
_MOST_HELD = 4 * 1024 * 1024  # bytes; beyond that, a possible beginning of a key counts as a key
_MOST_CHANNELS = 1000  # a hostile service can invent names
_RELEASED = -1
_INSIDE = re.compile(  # of a JSON string
    rb'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*'
)
_STRING_BEGINS = re.compile(rb'"[^"\\\x00-\x1f]+" *: *"')
_Named = tuple[Hashable, str]  # the name of a member, and its string
_PROBE = "a probe of the pattern"
# Events for which an unchanged string is searched; more repetitions reveal nothing new.
_REPEATED = 1000
# Look for a pattern after each of the first 8 events without one, then every 32nd.
_TRIED, _TRIED_AGAIN = 8, 32


class EventRedactor:
    """Redacts JSON texts, called events, so that no key can be put together from the strings in
    several of them.

    It joins the strings of the same member name, and the texts that `add_text` groups. An event
    that holds a piece of a key becomes a JSON string with the mark of the key. An event that may
    hold one is held back until that is decided.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._has_keys = redactor.has_keys
        self._count = 0
        self._pending: deque[bytes] = deque()  # the latest events, as lines
        self._size = 0  # bytes in `_pending`
        self._hidden: dict[int, bytes] = {}
        self._channels: dict[Hashable, _Channel] = {}
        self._pattern: _Pattern | None = None
        self._before = b""
        self._alike = self._others = 0  # events in a row with the pattern, and without

    @property
    def count(self) -> int:
        """The number of events so far."""
        return self._count

    def add(self, data: bytes) -> None:
        """Take the next event. Text that is not JSON counts as a string."""
        self._count += 1
        line, pattern = data, self._pattern
        if pattern is not None and (text := pattern.string_of(data)) is not None:
            if self._has_keys:
                for name, string in (
                    pattern.strings if self._alike < _REPEATED else pattern.differing
                ):
                    self._put(name, text if string is None else string)
            self._alike += 1
            self._others = 0
        else:
            line, strings = self._parsed(data)
            for name, string in strings:
                self._put(name, string)
            if self._others < _TRIED or self._others % _TRIED_AGAIN == 0:
                self._find_pattern(data)
            self._before = data
            self._alike, self._others = 0, self._others + 1
        self._pending.append(line)
        self._size += len(line)

    def _parsed(self, data: bytes) -> tuple[bytes, list[_Named]]:
        """Return the line of an event, and its strings."""
        line = data
        try:
            text = data.decode()
            strings = _strings(text)
            if b"\n" in data or b"\r" in data:
                line = json.dumps(json.loads(text), separators=(",", ":"), allow_nan=False).encode()
        except (ValueError, RecursionError):
            text = data.decode("utf-8", "backslashreplace")
            strings = [("", text)]
            line = json.dumps(text).encode()
        return line, [*strings, (None, f"{text}\n")]  # the whole text, to find keys in member names

    def _find_pattern(self, data: bytes) -> None:
        """Find what this event and the one before have in common, so that the next ones need not be
        parsed.
        """
        pattern = _Pattern.of(self._before, data)
        if pattern and not self._redactor.holds_key(pattern.start + b" " + pattern.end):
            self._pattern = pattern

    def add_text(self, channel: Hashable, text: str) -> None:
        """Add `text`, which the latest event holds in some form, to the other texts of `channel`."""
        self._put((channel,), text)  # a tuple, so that it equals no member name

    def _put(self, channel: Hashable, text: str) -> None:
        if self._has_keys:
            found = self._channels.get(channel) or self._new_channel(channel)
            found.texts.append((self._count - 1, text))

    def take(self, before: int | None = None) -> list[bytes]:
        """Return the events that are final, each as one line without its end.

        At most the first `before` events are final, because `add_text` may still add to later ones.
        None means that nothing follows.
        """
        first = self._count - len(self._pending)
        if self._has_keys:
            for channel in self._channels.values():
                if channel.texts or before is None:
                    self._hidden |= channel.search(self._redactor, first, is_last=before is None)
            if self._size > _MOST_HELD:
                self._decide()
        ends = [channel.held[0] for channel in self._channels.values() if channel.held]
        end = min([self._count if before is None else before, *ends])
        lines = [self._pending.popleft() for _ in range(first, end)]
        self._size -= sum(map(len, lines))
        if self._hidden:
            lines = [self._hidden.get(number, line) for number, line in enumerate(lines, first)]
            self._hidden = {number: mark for number, mark in self._hidden.items() if number >= end}
        return lines

    def _decide(self) -> None:
        """Hide the events that are held back: too much waits for the rest of a possible key."""
        for channel in self._channels.values():
            self._hidden |= dict.fromkeys(channel.held, b'"***"')
            channel.held = []

    def _new_channel(self, name: Hashable) -> _Channel:
        return self._channels.setdefault(
            name if len(self._channels) < _MOST_CHANNELS else "", _Channel()
        )


class _Channel:
    """Texts that belong together.

    `held` are the numbers of events with a possible beginning of a key.
    """

    __slots__ = ("_at_line_start", "_owners", "_tail", "held", "texts")

    def __init__(self) -> None:
        self.texts: list[tuple[int, str]] = []  # new ones, with the number of the event
        self.held: list[int] = []
        self._tail = b""  # a possible beginning of a key
        # Where the part of an event in the tail ends, and its number.
        self._owners: list[tuple[int, int]] = []
        self._at_line_start = True

    def search(self, redactor: Redactor, first: int, *, is_last: bool) -> dict[int, bytes]:
        """Search the new texts; return the replacement of each event that contains a piece of a
        key.

        Events before `first` are already released.
        """
        pieces = [text.encode("utf-8", "surrogatepass") for _, text in self.texts]
        data = b"".join((self._tail, *pieces))
        spans = redactor.spans(data, at_line_start=self._at_line_start)
        keep = hold = len(data)
        line_start = self._at_line_start
        if not is_last:
            keep = redactor.unfinished(data, at_line_start=line_start)
            line_start = data[keep - 1 : keep] == b"\n" if keep else line_start
            hold = keep + redactor.unfinished(
                data[keep:], at_line_start=line_start, at_least=_BEGINNING
            )
        hidden: dict[int, bytes] = {}
        owners, self.held = [(len(data), _RELEASED)], []
        if spans or hold < len(data):
            ends = list(accumulate(map(len, pieces), initial=len(self._tail)))[1:]
            owners = [*self._owners, *zip(ends, [number for number, _ in self.texts], strict=True)]
            ends = [end for end, _ in owners]
            for span in spans:
                events = owners[bisect_right(ends, span.start) : bisect_left(ends, span.end) + 1]
                hidden |= {number: json.dumps(span.mark.decode()).encode() for _, number in events}
            self.held = sorted(
                {number for _, number in owners[bisect_right(ends, hold) :] if number >= first}
            )
        self._owners = [(end - keep, number) for end, number in owners if end > keep]
        self._tail, self._at_line_start, self.texts = data[keep:], line_start, []
        return hidden


@dataclass(frozen=True, slots=True)
class _Pattern:
    """What consecutive events have in common: everything except the inside of one string.

    `start` and `end` are the bytes around it; `strings` are all strings of an event in order, None
    for this one.
    """

    start: bytes
    end: bytes
    strings: Sequence[tuple[Hashable, str | None]]
    differing: Sequence[tuple[Hashable, str | None]]  # those of the member that differs

    @classmethod
    def of(cls, one: bytes, other: bytes) -> Self | None:
        """Return the pattern of two events; None if they have none."""
        common = bisect_left(
            range(min(len(one), len(other))), True, key=lambda at: one[: at + 1] != other[: at + 1]
        )
        *_, begin = 0, *(found.end() for found in _STRING_BEGINS.finditer(other, 0, common))
        close = other.find(b'"', begin)
        start, end = other[:begin], other[close:]
        if not start or close < 0 or not one.endswith(end) or b"\n" in other or b"\r" in other:
            return None
        try:
            strings = _strings((start + _PROBE.encode() + end).decode())
        except (ValueError, RecursionError):
            return None
        found = [(name, None if string == _PROBE else string) for name, string in strings if string]
        differing = [name for name, string in found if string is None]
        if len(differing) != 1:
            return None
        # Any valid inside of a JSON string can replace the probe.
        return cls(start, end, found, [each for each in found if each[0] == differing[0]])

    def string_of(self, data: bytes) -> str | None:
        """Return the string of an event that differs; None if it does not have the pattern."""
        start, end = self.start, self.end
        if not (data.startswith(start) and data.endswith(end)):
            return None
        inside = data[len(start) : len(data) - len(end)]
        if not inside or not _INSIDE.fullmatch(inside):
            return None
        try:
            return json.loads(b'"%s"' % inside) if b"\\" in inside else inside.decode()
        except UnicodeDecodeError:
            return None


def _strings(text: str) -> list[_Named]:
    """Return the strings in a JSON text, each with the name of its member, in order.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    found: list[_Named] = []
    # Objects become tuples, which keep members of the same name.
    remaining: list[tuple[str, Any]] = [
        ("", json.loads(text, object_pairs_hook=tuple, parse_constant=_refuse))
    ]
    while remaining:
        name, value = remaining.pop()
        if type(value) is str:
            found.append((name, value))
        elif type(value) is tuple:
            remaining.extend(reversed(value))
        elif type(value) is list:
            remaining.extend((name, each) for each in reversed(value))
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
