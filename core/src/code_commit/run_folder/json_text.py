"""Convert values to strict JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


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
