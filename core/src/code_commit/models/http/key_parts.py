"""Hide the parts of a key that services show in their errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_SHORTEST_PART = 8  # characters
_MASK = "\0"  # stands for a hidden character


def hide_parts(text: str, key: str | None) -> str:
    """Return `text` with `***` for each part of `key`, plain or escaped.

    Services often show both ends of a key.
    """
    if not key:
        return text
    hidden = bytearray(len(text))
    for form in {key, json.dumps(key)[1:-1]}:
        for part in _parts_of(form):
            position = text.find(part)
            while position >= 0:
                hidden[position : position + len(part)] = b"*" * len(part)
                position = text.find(part, position + 1)
    if not any(hidden):
        return text
    letters = zip(hidden, text, strict=True)
    masked = [_MASK if is_hidden else letter for is_hidden, letter in letters]
    return re.sub(f"{_MASK}+", "***", "".join(masked))


def _parts_of(key: str) -> Iterator[str]:
    last_start = max(0, len(key) - _SHORTEST_PART)
    for start in range(last_start + 1):
        yield key[start : start + _SHORTEST_PART]
