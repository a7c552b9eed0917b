"""The forms in which programs print a key.

`escaped_forms` occur in text: plain, or escaped for JSON, URLs, HTML and shells. The other forms
are encodings, which programs break into lines and groups.
"""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import quote, quote_plus

_LEAST_IN_BASE85 = 8  # characters of a key; five characters of base85 could be a word
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_UUENCODE = str.maketrans(_BASE64, "`" + "".join(map(chr, range(0x21, 0x60))))


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
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield from _aligned_base64(key.encode(encoding), encode)


def base32_forms(key: str) -> Iterator[str]:
    """Yield the base32 characters (RFC 4648) that depend on `key` alone, for each alignment, in
    both cases.
    """
    raw = key.encode()
    for before in range(5):
        first = -(-before * 8 // 5)
        after = (before + len(raw)) * 8 // 5
        form = base64.b32encode(bytes(before) + raw).decode()[first:after]
        yield form
        yield form.lower()


def base85_forms(key: str) -> Iterator[str]:
    """Yield the base85 of each four characters of `key` that are encoded together, for each
    alignment.

    The alphabet is that of git and Python's `b85encode`, or Ascii85, also in a JSON string. Up to
    three characters at each end of the key are encoded together with others, so a short key has no
    form.
    """
    raw = key.encode()
    for first in range(4):
        part = raw[first : first + (len(raw) - first) // 4 * 4]
        if len(part) >= _LEAST_IN_BASE85:
            ascii85 = base64.a85encode(part).decode()
            yield from {base64.b85encode(part).decode(), ascii85, _json(ascii85)}


def uuencode_forms(key: str) -> Iterator[str]:
    """Yield the characters of uuencode that depend on `key` alone, for each alignment, as if all
    were in one line.

    Programs write a zero as a blank or as a backtick.
    """
    for form in dict.fromkeys(_aligned_base64(key.encode(), base64.b64encode)):
        encoded = form.translate(_UUENCODE)
        yield from {encoded, encoded.replace("`", " ")}


def digit_forms(key: str) -> Iterator[str]:
    """Yield the digits of `key` in hex and octal, in lower case and without separators.

    These cover `\\x6b`, `%6b` and `\\u006b` for each character, `0x6b, 0x65` and the words of
    dumps, which swap the two bytes of a pair. Pairs may begin at the first or at the second
    character.
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


def _aligned_base64(raw: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    for before in range(3):
        first = -(-before * 8 // 6)
        after = (before + len(raw)) * 8 // 6
        yield encode(bytes(before) + raw).decode()[first:after]


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
        # The module `html` is large.
        html = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", **quotes})
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
