"""Texts that a backtracking matcher is slow at, derived from the patterns themselves."""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterable, Iterator
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import pytest

# A class of characters is sampled by the first that it has of each of these.
PALETTES = ("a0 .", " \t", "0a", "./-:", "\"'`(<[{*", "\n\r", "=,;#@_", "\\^~|&>")
RUNS = "a 0_A.-/\\\"'`(<[{)*:=,;#@^~|&>%$\t\r\n\x1b\b\x00\xe9\u2026"
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


def hostile_texts(pattern: re.Pattern[Any]) -> set[HostileText]:
    """Return texts in which each unbounded part of a pattern begins often, and never ends."""
    source = pattern.pattern
    tree = _parser.parse(source, pattern.flags & ~re.UNICODE)
    texts = set()
    for palette in PALETTES:
        for prefix, body in _unbounded_parts(tree, "", palette):
            units = {body, prefix, prefix + body, prefix + " ", prefix + "\n", body + "\n"} - {""}
            texts |= {
                HostileText(head, unit, tail)
                for unit in units
                for head, tail in (("", "\x01"), (prefix, "\x01"), ("", ""))
            }
    return texts


def _unbounded_parts(tree: Any, prefix: str, palette: str) -> Iterator[tuple[str, str]]:
    """Yield a text before each unbounded repeat, and a text that the repeat takes once."""
    for position, (kind, value) in enumerate(tree):
        if kind in _REPEATS:
            least, most, repeated = value
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
