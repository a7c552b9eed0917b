"""Read JSON that a run or another process wrote. It may be hostile, damaged or incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from code_commit_workspace import STOP, open_regular

_LONGEST_LINE = 64 * 1024 * 1024  # bytes
# Numbers of 128 bits: their sums are finite, and fit where a float is needed.
_MOST_DIGITS = 39
_LARGEST_NUMBER = 1e39


def read_json(text: bytes) -> Any:
    """Return the value of a JSON text that a program wrote.

    Raises:
        RecursionError: it is nested too deep.
        ValueError: it is not JSON in UTF-8, or a number in it is larger than any that a run has.
    """
    return json.loads(
        text.decode(), parse_int=_integer, parse_float=_finite, parse_constant=_finite
    )


def counts(value: Any) -> bool:
    """Return whether every number in a JSON `value` counts something: none is negative or a bool.

    Raises:
        RecursionError: it is nested too deep.
    """
    if isinstance(value, dict):
        return all(map(counts, value.values()))
    if isinstance(value, list):
        return all(map(counts, value))
    return is_count(value) or not isinstance(value, int | float)


def is_count(value: Any) -> bool:
    """Return whether `value` is a number, and neither negative nor a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def read_json_lines(path: Path) -> Iterator[Any]:
    """Yield the value of each line of a file.

    Lines that are not JSON, incomplete or very long are skipped.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    with open_regular(path) as file:
        while line := file.readline(_LONGEST_LINE):
            STOP.check()
            if not line.endswith(b"\n") and len(line) == _LONGEST_LINE:
                while line and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST_LINE)
                continue
            try:
                value = read_json(line)
            except (ValueError, RecursionError):
                continue
            yield value


def _integer(text: str) -> int:
    if len(text.removeprefix("-")) > _MOST_DIGITS:
        raise ValueError(f"no run has the number {text:.20}...")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not abs(value) < _LARGEST_NUMBER:  # also "NaN"
        raise ValueError(f"no run has the number {text:.20}")
    return value
