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
from operator import methodcaller
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
    """Yield the base32 characters (RFC 4648) that depend on `key` alone, in both cases.

    There is a form for each alignment in longer data.
    """
    raw = key.encode()
    for bytes_before in range(5):
        encoded = base64.b32encode(bytes(bytes_before) + raw).decode()
        first = -(-bytes_before * 8 // 5)  # rounded up
        end = (bytes_before + len(raw)) * 8 // 5
        form = encoded[first:end]
        yield form
        yield form.lower()


def base85_forms(key: str) -> Iterator[str]:
    """Yield the base85 characters that depend on `key` alone, for each alignment in longer data.

    Base85 encodes four characters together. The alphabet is that of git and Python's `b85encode`,
    or Ascii85, also in a JSON string. Up to three characters at each end of the key are encoded
    together with characters next to it, so a short key has no form.
    """
    raw = key.encode()
    for first in range(4):
        length = (len(raw) - first) // 4 * 4
        part = raw[first : first + length]
        if len(part) >= _LEAST_IN_BASE85:
            base85 = base64.b85encode(part).decode()
            ascii85 = base64.a85encode(part).decode()
            yield from {base85, ascii85, _json(ascii85)}


def uuencode_forms(key: str) -> Iterator[str]:
    """Yield the characters of uuencode that depend on `key` alone, as if all were in one line.

    There is a form for each alignment. Programs write a zero as a blank or as a backtick.
    """
    for form in dict.fromkeys(_aligned_base64(key.encode(), base64.b64encode)):
        encoded = form.translate(_UUENCODE)
        yield from {encoded, encoded.replace("`", " ")}


def digit_forms(key: str) -> Iterator[str]:
    """Yield the digits of `key` in hex and octal, in lower case and without separators.

    They cover `\\x6b`, `%6b` and `\\u006b` for each character, and `0x6b, 0x65`. They also cover
    the words of dumps, which swap the two bytes of a pair. Pairs may begin at the first or at the
    second character.
    """
    raw = key.encode()
    yield raw.hex()
    yield raw.hex("-").replace("-", "0")
    for encoding in ("utf-16-le", "utf-16-be"):
        yield key.encode(encoding).hex()
    yield "".join(f"{byte:03o}" for byte in raw)
    for first in range(2):
        pairs = zip(raw[first::2], raw[first + 1 :: 2], strict=False)
        words = [low + 256 * high for low, high in pairs]
        yield "".join(f"{word:04x}" for word in words)
        yield "".join(f"{word:06o}" for word in words)


def _aligned_base64(raw: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    for bytes_before in range(3):
        encoded = encode(bytes(bytes_before) + raw).decode()
        first = -(-bytes_before * 8 // 6)  # rounded up
        end = (bytes_before + len(raw)) * 8 // 6
        yield encoded[first:end]


def _escapes() -> Iterator[Callable[[str], str]]:
    """Yield the functions by which programs escape a text."""
    for escape in (_json, _json_slash, _json_html, partial(_json_html, digits="04X")):
        yield escape
        yield _both(escape, _json)  # a JSON string inside JSON
    for safe in ("/", "", "!'()*"):  # what Python, query strings and JavaScript leave unescaped
        quote_url = partial(quote, safe=safe)
        yield quote_url
        yield _both(quote_url, _lower_hex)
    yield quote_plus
    yield _both(quote_plus, _lower_hex)
    for quotes in ({'"': "&quot;", "'": "&#x27;"}, {'"': "&#34;", "'": "&#39;"}):
        # The module `html` is large.
        html = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", **quotes})
        yield methodcaller("translate", html)
    for escape in (_repr, _bash, _shlex):
        yield escape
        yield _both(escape, _json)


def _both(inner: Callable[[str], str], outer: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that escapes a text by `inner`, then by `outer`."""
    return lambda text: outer(inner(text))


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
    return re.sub("[<>&']", lambda match: f"\\u{ord(match[0]):{digits}}", _json(text))


def _lower_hex(quoted: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
