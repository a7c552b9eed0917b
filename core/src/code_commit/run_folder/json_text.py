"""Convert values to strict JSON, and read lines of JSON from a hostile or killed process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from code_commit_workspace import STOP, open_regular

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONGEST_LINE = 64 * 1024 * 1024  # bytes
# Sums of these are finite, and fit where a float is needed. A run has no larger number.
_MOST_DIGITS = 19
_LARGEST_NUMBER = 1e19


def to_json(value: object) -> Any:
    """Return `value` as dict, list, str, int, float, bool or None. A path becomes a string.

    Lone surrogates, which UTF-8 cannot encode, become escapes. Python uses them for invalid bytes
    in file names.

    Raises:
        TypeError: it is neither JSON nor a path.
        ValueError: a number in it is not finite.
    """
    text = json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False)
    return json.loads(_SURROGATE.sub(lambda match: rf"\\u{ord(match[0]):04x}", text))


def json_document(value: object) -> str:
    """Return `value` as an indented JSON text.

    A number that is not finite, as Python reads 1e999, becomes a string.

    Raises:
        TypeError: it is not JSON.
    """
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return json_document(json.loads(json.dumps(value), parse_constant=str))


def join_surrogates(text: str) -> str:
    """Return `text` with each surrogate pair as the character that JSON split into it."""
    if text.isascii():
        return text
    return _PAIR.sub(_joined, text)


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


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


def read_json(text: bytes) -> Any:
    """Return the value of a JSON text that a program wrote.

    Raises:
        RecursionError: it is nested too deep.
        ValueError: it is not JSON in UTF-8, or a number in it is larger than any that a run has.
    """
    return json.loads(
        text.decode(), parse_int=_integer, parse_float=_finite, parse_constant=_finite
    )


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"{text[:_MOST_DIGITS]}... is too large a number")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not abs(value) < _LARGEST_NUMBER:  # also "NaN"
        raise ValueError(f"{text[:_MOST_DIGITS]} is too large a number")
    return value
