"""Estimate the tokens of a text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

# Tokens of each piece of a text, fitted to the counts of real tokenizers: see
# core/tests/test_token_estimate.py.
_PIECES = {
    r"[A-Z]?[a-z]+|[A-Z]+": 1.1,  # a word, also one in a camelCase name
    r"(?<=[a-z]{6})[a-z]|(?<=[A-Z]{6})[A-Z]": 0.46,  # each letter after the sixth
    r"[0-9]{1,3}": 1.34,
    r"[!-/:-@[-`{-~]+": 0.58,  # a run of punctuation
    r"(?<=[!-/:-@[-`{-~])[!-/:-@[-`{-~]": 0.15,  # each mark after the first
    r"\s{2,}|\n": 0.75,
}
_NOT_ASCII = {  # these take long to compile
    r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\uffef]": 0.81,  # Chinese, Japanese, Korean
    r"[\u0080-\u052f]": 0.41,  # Latin with accents, Greek, Cyrillic
    r"[\u0530-\u2e7f\ud800-\uf8ff\ufff0-\uffff]": 0.6,
    r"[\U00010000-\U0010ffff]": 2.17,
}
# Punctuation and space in odd orders, and control characters.
_RARE = r"([!-/:-@[-`{-~])(?!\1)(?=[!-/:-@[-`{-~])|(\s)(?!\2)(?=\s)|[\x00-\x08\x0e-\x1f\x7f]"
_SAMPLE = 256  # bytes of each sample of a long text
_SAMPLES = 128  # at most


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` has.

    For prose, code and data, the estimate is within 20 % of the middle of real tokenizers, which
    differ from each other by up to a third. A long text is sampled.
    """
    if text.isascii():
        return estimate_sampled(len(text), lambda start, end: text[start:end].encode())
    content = text.encode("utf-8", "replace")
    return estimate_sampled(len(content), lambda start, end: content[start:end])


def estimate_sampled(size: int, read: Callable[[int, int], bytes]) -> int:
    """Return what `estimate_tokens` returns for a text of `size` bytes.

    `read` returns its bytes from start to end.
    """
    step = _SAMPLE
    while size > step * _SAMPLES:
        step *= 2
    samples = [read(start, start + _SAMPLE) for start in range(0, size, step)]
    return _scaled(b"".join(samples), size)


class ArrivingText:
    """The size of a text that arrives in pieces, and the estimate of its tokens.

    The text itself is not kept.
    """

    def __init__(self) -> None:
        self.size = 0  # bytes
        self._step = _SAMPLE
        self._samples: dict[int, bytes] = {}  # by where they begin

    def add(self, piece: bytes) -> None:
        """Take the next piece."""
        begin = self.size
        self.size += len(piece)
        first_sample = begin - begin % self._step
        for start in range(first_sample, self.size, self._step):
            skipped = max(start - begin, 0)
            missing = max(start + _SAMPLE - begin, 0)
            if start >= begin or start in self._samples:
                self._samples[start] = self._samples.get(start, b"") + piece[skipped:missing]
        while self.size > self._step * _SAMPLES:
            self._step *= 2
            self._samples = {
                at: sample for at, sample in self._samples.items() if at % self._step == 0
            }

    @property
    def tokens(self) -> int:
        """About how many tokens the text has so far."""
        return _scaled(b"".join(self._samples.values()), self.size)


def _scaled(sample: bytes, size: int) -> int:
    """Return the tokens of a text of `size` bytes that is like `sample`."""
    tokens = _weight(sample.decode("utf-8", "ignore"))
    return round(tokens * size / (len(sample) or 1))


def most_tokens(text: str) -> int:
    """Return how many tokens `text` has at most.

    That is half more than the estimate, and one for each byte of rare kinds.
    """
    plain = text.encode("ascii", "ignore").decode()
    size = len(text.encode("utf-8", "replace"))
    rare_bytes = size - len(plain) + len(re.findall(_RARE, plain))
    return min(size, math.ceil(1.5 * _weight(plain)) + rare_bytes)


def _weight(text: str) -> float:
    """Return about how many tokens `text` has."""
    pieces = _PIECES
    if not text.isascii():
        pieces = _PIECES | _NOT_ASCII
    return sum(weight * len(re.findall(piece, text)) for piece, weight in pieces.items())
