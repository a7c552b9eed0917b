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
from typing import Any, Self

from code_commit_workspace import Redactor

# An event that ends with this many characters of a key is held back; fewer reveal too little.
_BEGINNING = 4
_MOST_WAITING = 4 * 1024 * 1024  # bytes; beyond that, a possible beginning of a key counts as a key
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
    """Redacts JSON texts, called events.

    No key can be put together from the strings in several of them. It joins the strings of the same
    member name, and the texts that `add_text` groups. An event that holds a piece of a key becomes
    a JSON string with the mark of the key. An event that may hold one is held back until that is
    decided.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._count = 0
        self._pending: deque[bytes] = deque()  # the latest events, as lines
        self._size = 0  # bytes in `_pending`
        self._hidden: dict[int, bytes] = {}
        self._channels: dict[Hashable, _Channel] = {}
        self._pattern: _Pattern | None = None
        self._before = b""
        self._alike = 0  # events in a row with the pattern
        self._unlike = 0  # events in a row without it

    @property
    def count(self) -> int:
        """The number of events so far."""
        return self._count

    def add(self, data: bytes) -> None:
        """Take the next event. Text that is not JSON counts as a string."""
        self._count += 1
        pattern = self._pattern
        text = None
        if pattern is not None:
            text = pattern.string_of(data)
        if pattern is None or text is None:
            line = self._add_unlike(data)
        else:
            line = data
            self._add_alike(pattern, text)
        self._pending.append(line)
        self._size += len(line)

    def _add_alike(self, pattern: _Pattern, text: str) -> None:
        """Take the strings of an event that has the pattern; `text` is the one that differs."""
        if self._redactor.has_keys:
            strings = pattern.strings
            if self._alike >= _REPEATED:
                strings = pattern.differing
            for name, string in strings:
                self._put(name, text if string is None else string)
        self._alike += 1
        self._unlike = 0

    def _add_unlike(self, data: bytes) -> bytes:
        """Take the strings of an event without the pattern, and return its line."""
        line, strings = self._parsed(data)
        for name, string in strings:
            self._put(name, string)
        if self._unlike < _TRIED or self._unlike % _TRIED_AGAIN == 0:
            self._find_pattern(data)
        self._before = data
        self._alike = 0
        self._unlike += 1
        return line

    def _parsed(self, data: bytes) -> tuple[bytes, list[_Named]]:
        """Return the line of an event, and its strings."""
        line = data
        try:
            text = data.decode()
            strings = _strings(text)
            if b"\n" in data or b"\r" in data:
                document = json.loads(text)
                line = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        except (ValueError, RecursionError):
            text = data.decode("utf-8", "backslashreplace")
            strings = [("", text)]
            line = json.dumps(text).encode()
        return line, [*strings, (None, f"{text}\n")]  # the whole text, to find keys in member names

    def _find_pattern(self, data: bytes) -> None:
        """Find what this event and the one before have in common.

        The next ones with this pattern need not be parsed.
        """
        pattern = _Pattern.of(self._before, data)
        if pattern is None:
            return
        if not self._redactor.holds_key(pattern.start + b" " + pattern.end):
            self._pattern = pattern

    def add_text(self, channel: Hashable, text: str) -> None:
        """Add a `text` of the latest event to the other texts of `channel`."""
        self._put((channel,), text)  # a tuple, so that it equals no member name

    def _put(self, channel: Hashable, text: str) -> None:
        if not self._redactor.has_keys:
            return
        group = self._channels.get(channel) or self._new_channel(channel)
        group.texts.append((self._count - 1, text))

    def take(self, before: int | None = None) -> list[bytes]:
        """Return the events that are final, each as one line without its end.

        At most the first `before` events are final, because `add_text` may still add to later ones.
        None means that nothing follows.
        """
        first = self._count - len(self._pending)
        if self._redactor.has_keys:
            for channel in self._channels.values():
                if channel.texts or before is None:
                    self._hidden |= channel.search(self._redactor, first, is_last=before is None)
            if self._size > _MOST_WAITING:
                self._decide()
        end = before
        if end is None:
            end = self._count
        for channel in self._channels.values():
            if channel.waiting:
                end = min(end, channel.waiting[0])
        lines = [self._pending.popleft() for _ in range(first, end)]
        self._size -= sum(map(len, lines))
        if self._hidden:
            lines = [self._hidden.get(number, line) for number, line in enumerate(lines, first)]
            self._hidden = {number: mark for number, mark in self._hidden.items() if number >= end}
        return lines

    def _decide(self) -> None:
        """Hide the events that are held back: too much waits for the rest of a possible key."""
        for channel in self._channels.values():
            self._hidden |= dict.fromkeys(channel.waiting, b'"***"')
            channel.waiting = []

    def _new_channel(self, name: Hashable) -> _Channel:
        if len(self._channels) >= _MOST_CHANNELS:
            name = ""  # shared by the rest
        return self._channels.setdefault(name, _Channel())


class _Channel:
    """Texts that belong together.

    `waiting` are the numbers of events with a possible beginning of a key.
    """

    __slots__ = ("_at_line_start", "_owners", "_tail", "texts", "waiting")

    def __init__(self) -> None:
        self.texts: list[tuple[int, str]] = []  # new ones, with the number of the event
        self.waiting: list[int] = []
        self._tail = b""  # a possible beginning of a key
        # Where the part of an event in the tail ends, and its number.
        self._owners: list[tuple[int, int]] = []
        self._at_line_start = True

    def search(self, redactor: Redactor, first: int, *, is_last: bool) -> dict[int, bytes]:
        """Search the new texts, and return the replacement of each event with a piece of a key.

        Events before `first` are already released.
        """
        pieces = [text.encode("utf-8", "surrogatepass") for _, text in self.texts]
        data = b"".join((self._tail, *pieces))
        spans = redactor.spans(data, at_line_start=self._at_line_start)
        tail_start = possible_key = len(data)
        line_start = self._at_line_start
        if not is_last:
            tail_start = redactor.unfinished(data, at_line_start=line_start)
            if tail_start:
                line_start = data[tail_start - 1 : tail_start] == b"\n"
            possible_key = tail_start + redactor.unfinished(
                data[tail_start:], at_line_start=line_start, at_least=_BEGINNING
            )
        hidden: dict[int, bytes] = {}
        owners = [(len(data), _RELEASED)]
        self.waiting = []
        if spans or possible_key < len(data):
            owners = self._owners_of(pieces)
            ends = [end for end, _ in owners]
            for span in spans:
                events = owners[bisect_right(ends, span.start) : bisect_left(ends, span.end) + 1]
                mark = json.dumps(span.mark.decode()).encode()
                hidden |= {number: mark for _, number in events}
            later = owners[bisect_right(ends, possible_key) :]
            self.waiting = sorted({number for _, number in later if number >= first})
        self._owners = [(end - tail_start, number) for end, number in owners if end > tail_start]
        self._tail = data[tail_start:]
        self._at_line_start = line_start
        self.texts = []
        return hidden

    def _owners_of(self, pieces: Sequence[bytes]) -> list[tuple[int, int]]:
        """Return where the part of each event ends in the tail and the new `pieces`."""
        owners = list(self._owners)
        end = len(self._tail)
        for piece, (number, _) in zip(pieces, self.texts, strict=True):
            end += len(piece)
            owners.append((end, number))
        return owners


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
    def of(cls, before: bytes, event: bytes) -> Self | None:
        """Return the pattern of `event` and the event `before` it; None if they have none."""
        if b"\n" in event or b"\r" in event:
            return None
        common = _common_length(before, event)
        string_start = 0
        for match in _STRING_BEGINS.finditer(event, 0, common):
            string_start = match.end()
        string_end = event.find(b'"', string_start)
        start = event[:string_start]
        end = event[string_end:]
        if not start or string_end < 0 or not before.endswith(end):
            return None
        try:
            strings = _strings((start + _PROBE.encode() + end).decode())
        except (ValueError, RecursionError):
            return None
        if [string for _, string in strings].count(_PROBE) != 1:
            return None
        # Any valid inside of a JSON string can replace the probe.
        [probed] = [name for name, text in strings if text == _PROBE]
        pattern = [(name, None if text == _PROBE else text) for name, text in strings if text]
        differing = [(name, text) for name, text in pattern if name == probed]
        return cls(start, end, strings=pattern, differing=differing)

    def string_of(self, data: bytes) -> str | None:
        """Return the string of an event that differs; None if it does not have the pattern."""
        if not (data.startswith(self.start) and data.endswith(self.end)):
            return None
        inside = data[len(self.start) : len(data) - len(self.end)]
        if not inside or not _INSIDE.fullmatch(inside):
            return None
        try:
            if b"\\" in inside:
                return str(json.loads(b'"%s"' % inside))
            return inside.decode()
        except UnicodeDecodeError:
            return None


def _common_length(first: bytes, second: bytes) -> int:
    """Return how many bytes two events have in common at their start."""
    lengths = range(min(len(first), len(second)))
    return bisect_left(lengths, True, key=lambda at: first[: at + 1] != second[: at + 1])


def _strings(text: str) -> list[_Named]:
    """Return the strings in a JSON text, each with the name of its member, in order.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    strings: list[_Named] = []
    # Objects become tuples, which keep members of the same name.
    document = json.loads(text, object_pairs_hook=tuple, parse_constant=_refuse)
    remaining: list[tuple[str, Any]] = [("", document)]
    while remaining:
        name, value = remaining.pop()
        if type(value) is str:
            strings.append((name, value))
        elif type(value) is tuple:
            remaining.extend(reversed(value))
        elif type(value) is list:
            remaining.extend((name, element) for element in reversed(value))
    return strings


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
