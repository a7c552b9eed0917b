"""The forms in which programs print a key.

`escaped_forms` occur in text: plain, or escaped for JSON, URLs, HTML and shells. `base64_forms` and `digit_forms` are
encodings; programs break them into lines and groups.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote, quote_plus


def mark_of(key: str) -> str:
    """Return the replacement of an encoded key; it is safe inside a JSON string."""
    return f"***{_json(key[-2:])}"


def escaped_forms(key: str) -> Iterator[tuple[str, str]]:
    """Yield each escaped form of `key` with its replacement, escaped in the same way."""
    end = key[-2:]
    for escape in _escapes():
        yield escape(key), f"***{escape(end)}"
    yield key, f"***{end}"  # last: it wins where an escaped form equals the key


def base64_forms(key: str) -> Iterator[str]:
    """Yield the base64 characters that depend on `key` alone, for each alignment in longer data.

    The key is in ASCII or UTF-16, the alphabet is the standard or the URL-safe one (RFC 4648).
    """
    for encoding in ("ascii", "utf-16-le", "utf-16-be"):
        raw = key.encode(encoding)
        for before in range(3):
            first = -(-before * 8 // 6)
            after = (before + len(raw)) * 8 // 6
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                yield encode(bytes(before) + raw).decode()[first:after]


def digit_forms(key: str) -> Iterator[str]:
    """Yield the digits of `key` in hex and octal, in lower case and without separators.

    These cover `\\x6b`, `%6b` and `\\u006b` for each character, `0x6b, 0x65` and the words of dumps, which swap the two
    bytes of a pair. Pairs may begin at the first or at the second character.
    """
    raw = key.encode()
    yield raw.hex()
    yield raw.hex("-").replace("-", "0")
    for encoding in ("utf-16-le", "utf-16-be"):
        yield key.encode(encoding).hex()
    yield "".join(f"{byte:03o}" for byte in raw)
    for first in range(2):
        words = [raw[i] + 256 * raw[i + 1] for i in range(first, len(raw) - 1, 2)]
        yield "".join(f"{word:04x}" for word in words)
        yield "".join(f"{word:06o}" for word in words)


def _escapes() -> Iterator[Callable[[str], str]]:
    for escape in (_json, _json_slash, _json_html, partial(_json_html, digits="04X")):
        yield escape
        yield lambda text, escape=escape: _json(escape(text))  # type: ignore[misc]  # a JSON string inside JSON
    for safe in ("/", "", "!'()*"):  # what Python, query strings and JavaScript leave unescaped
        yield lambda text, safe=safe: quote(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=safe: _lower_hex(quote(text, safe=safe))  # type: ignore[misc]
    yield quote_plus
    yield lambda text: _lower_hex(quote_plus(text))
    for quotes in ({'"': "&quot;", "'": "&#x27;"}, {'"': "&#34;", "'": "&#39;"}):
        html = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", **quotes})  # the module `html` is large
        yield lambda text, html=html: text.translate(html)  # type: ignore[misc]
    for escape in (_repr, _bash, _shlex):
        yield escape
        yield lambda text, escape=escape: _json(escape(text))  # type: ignore[misc]  # the same inside a JSON string


def _repr(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _bash(text: str) -> str:
    return text.replace("'", "'\\''")


def _shlex(text: str) -> str:
    return text.replace("'", "'\"'\"'")


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _json_slash(text: str) -> str:
    return _json(text).replace("/", "\\/")


def _json_html(text: str, digits: str = "04x") -> str:
    return re.sub("[<>&']", lambda found: f"\\u{ord(found[0]):{digits}}", _json(text))


def _lower_hex(quoted: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
