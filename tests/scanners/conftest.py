"""Texts that a backtracking matcher is slow at, derived from the patterns themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

# A class of characters is sampled by the first that it has of each of these.
PALETTES = ("a0 .", " \t", "0a", "./-:", "\"'`(<[{*", "\n\r", "=,;#@_", "\\^~|&>")
# At most twice as long as the one before: what grows exponentially is found before it takes hours.
LENGTHS = (24, 48, 96, 192, 400, 1000, 4000)
_QUICK = 4e-4  # seconds of processor time: nothing below it is compared
_HOPELESS = 0.1
_MOST_OF_CHARACTER = 1e-4
_MOST_GROWTH = 8  # for a text that is four times as long: 4 is linear, 16 is quadratic
_UNBOUNDED = 5000  # repeats that may be longer than a line is cut at
_REPEATS = {
    _constants.MAX_REPEAT,
    _constants.MIN_REPEAT,
    _constants.POSSESSIVE_REPEAT,
}


class HostileText(NamedTuple):
    """A text that grows by the repetition of one unit."""

    head: str
    unit: str
    tail: str

    def of_length(self, length: int) -> str:
        """Return the text in about this many characters."""
        return self.head + self.unit * (length // len(self.unit) + 1) + self.tail


def _hostile_texts(pattern: re.Pattern[Any]) -> set[HostileText]:
    """Return texts in which each unbounded part of a pattern begins often, and never ends."""
    source = pattern.pattern
    tree = _parser.parse(source, pattern.flags & ~re.UNICODE)
    texts = set()
    tails = {"", "\x01", "".join(sorted(_excluded(tree)))}
    for palette in PALETTES:
        for prefix, body in _unbounded_parts(tree, "", palette):
            units = {body, prefix, prefix + body, prefix + " ", prefix + "\n", body + "\n"} - {""}
            texts |= {
                HostileText(head, unit, tail)
                for unit in units
                for head, tail in ((prefix, "\x01"), *product([""], tails))
            }
    return texts


def _excluded(tree: Any) -> set[str]:
    """Return the characters that a class of a pattern excludes: they end what it repeats."""
    excluded = set()
    for kind, value in tree:
        if kind is _constants.NOT_LITERAL:
            excluded.add(chr(value))
        elif kind is _constants.IN and value[0][0] is _constants.NEGATE:
            excluded |= {chr(code) for kind, code in value if kind is _constants.LITERAL}
        inner = [value[2]] if kind in _REPEATS else _inner(kind, value)
        excluded = excluded.union(*map(_excluded, inner))
    return excluded


def _unbounded_parts(tree: Any, prefix: str, palette: str) -> Iterator[tuple[str, str]]:
    """Yield a text before each unbounded repeat, and a text that the repeat takes once."""
    for position, (kind, value) in enumerate(tree):
        if kind in _REPEATS:
            _, most, repeated = value
            body = _sample(repeated, palette)
            if most == _constants.MAXREPEAT or most > _UNBOUNDED:
                yield prefix, body
            yield from _unbounded_parts(repeated, prefix, palette)
            yield from _unbounded_parts(repeated, prefix + body, palette)
        else:
            for inner in _inner(kind, value):
                yield from _unbounded_parts(inner, prefix, palette)
        prefix += _sample(tree[position : position + 1], palette)


def _inner(kind: Any, value: Any) -> list[Any]:
    """Return the parts of a group, an alternative or an assertion."""
    if kind is _constants.BRANCH:
        return value[1]
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    if kind in {_constants.ASSERT, _constants.ASSERT_NOT}:
        return [value[1]]
    if kind is _constants.ATOMIC_GROUP:
        return [value]
    if kind is _constants.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _sample(tree: Any, palette: str) -> str:
    """Return a short text that a part of a pattern takes."""
    text = ""
    for position, (kind, value) in enumerate(tree):
        if kind is _constants.LITERAL:
            text += chr(value)
        elif kind in {_constants.IN, _constants.NOT_LITERAL, _constants.ANY}:
            text += _character(tree[position : position + 1], palette)
        elif kind in _REPEATS:
            text += _sample(value[2], palette) * min(value[0], 50)
        elif kind not in {_constants.ASSERT, _constants.ASSERT_NOT} and (
            inner := _inner(kind, value)
        ):
            text += _sample(inner[0], palette)
    return text


def _character(one_class: Any, palette: str) -> str:
    pattern = _compiler.compile(one_class, one_class.state.flags)
    is_bytes = isinstance(one_class.state.str, bytes)
    for character in (*palette, *map(chr, range(256)), "\u2026", "\u3040", "\u4e00", "\ud800"):
        if is_bytes and character > "\xff":
            break
        if pattern.match(character.encode("latin-1") if is_bytes else character):
            return character
    return palette[0]


def _slow_text(
    run: Callable[[str], object],
    texts: Iterable[HostileText],
    longest: int | None = None,
    *,
    lengths: Sequence[int] = LENGTHS,
    quick: float = _QUICK,
) -> str:
    """Return which text takes more than linear time, or an empty text.

    Nothing that takes less than `quick` seconds is judged. If nobody passes on more than `longest`
    characters, texts of this length are quick.
    """
    for text in texts:
        if longest is not None:
            seconds = _processor_time(run, text.of_length(longest)[:longest], 3)
            if seconds > quick:
                return f"{text}: {longest} characters take {seconds:.4f} s"
            continue
        for length in lengths:
            seconds = _processor_time(run, text.of_length(length))
            most = max(_HOPELESS, length * _MOST_OF_CHARACTER)
            if seconds > most:  # or it was the first to import something
                seconds = _processor_time(run, text.of_length(length), 2)
            if seconds > most:
                return f"{text}: {length} characters take {seconds:.2f} s"
        if seconds < quick:
            continue
        shorter, longer = (_processor_time(run, text.of_length(at), 3) for at in lengths[-2:])
        if longer > _MOST_GROWTH * shorter and longer > quick:
            shorter, longer = (_processor_time(run, text.of_length(at), 9) for at in lengths[-2:])
        if longer > _MOST_GROWTH * shorter and longer > quick:
            return f"{text}: {longer / shorter:.1f} times as much for 4 times the length"
    return ""


def _processor_time(run: Callable[[str], object], text: str, rounds: int = 1) -> float:
    """Return the seconds of processor time of the quickest round."""
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        run(text)
        seconds.append(time.process_time() - begin)
    return min(seconds)


@pytest.fixture(scope="session")
def repeated() -> Callable[[str], HostileText]:
    """Return a function that makes a text of one unit."""
    return lambda unit: HostileText("", unit, "")


@pytest.fixture(scope="session")
def hostile_texts() -> Callable[[re.Pattern[Any]], set[HostileText]]:
    """Return the texts for a pattern."""
    return _hostile_texts


@pytest.fixture(scope="session")
def slow_text() -> Callable[..., str]:
    """Return the function that compares the time of a text with that of longer ones."""
    return _slow_text
