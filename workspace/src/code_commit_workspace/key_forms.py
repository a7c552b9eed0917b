"""The common printed forms of a key.

These are: escaped for JSON, URLs, HTML and shells, in base64 at each of its three alignments, and in hex.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from html import escape as escape_html
from urllib.parse import quote, quote_plus


def forms_of(key: str) -> Iterator[tuple[str, str]]:
    """Yield each form of `key` with its replacement, escaped in the same way."""
    end = key[-2:]
    for escape in _escapes():
        yield escape(key), f"***{escape(end)}"
    raw = key.encode()
    shown = f"***{_json(end)}"
    for form in (*_base64_forms(raw), raw.hex(), raw.hex().upper()):
        yield form, shown
    yield key, f"***{end}"  # last: it wins where an escaped form equals the key


def _escapes() -> Iterator[Callable[[str], str]]:
    for escape in (_json, _json_slash, _json_html, partial(_json_html, digits="04X")):
        yield escape
        yield lambda text, escape=escape: _json(escape(text))  # type: ignore[misc]  # a JSON string inside JSON
    for safe in ("/", "", "!'()*"):  # what Python, query strings and JavaScript leave unescaped
        yield lambda text, safe=safe: quote(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=safe: _lower_hex(quote(text, safe=safe))  # type: ignore[misc]
    yield quote_plus
    yield lambda text: _lower_hex(quote_plus(text))
    yield escape_html
    yield lambda text: escape_html(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
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


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the base64 characters that depend on `raw` alone, for each alignment in longer data."""
    for before in range(3):
        first = -(-before * 8 // 6)
        after = (before + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + raw).decode()[first:after]
