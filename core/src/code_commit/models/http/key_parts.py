"""Hide the parts of a key that services show in their errors."""

from __future__ import annotations

import json
import re

_SHORTEST_PART = 8  # characters


def hide_parts(text: str, key: str | None) -> str:
    """Return `text` with `***` for each part of `key`, plain or escaped: services often show both
    ends of a key.
    """
    hidden = bytearray(len(text))
    for form in {key, json.dumps(key)[1:-1]} if key else ():
        for start in range(max(1, len(form) - _SHORTEST_PART + 1)):
            part = form[start : start + _SHORTEST_PART]
            found = text.find(part)
            while found >= 0:
                hidden[found : found + len(part)] = b"*" * len(part)
                found = text.find(part, found + 1)
    if not any(hidden):
        return text
    return re.sub(
        "\0+",
        "***",
        "".join("\0" if each else letter for each, letter in zip(hidden, text, strict=True)),
    )
