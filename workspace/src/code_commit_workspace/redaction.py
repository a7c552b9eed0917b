"""Keeps live keys out of everything that leaves the program: logs, terminal, JSON, prompts, file names.

A key is found as it is and in the forms that programs commonly print it in: escaped for JSON, URLs, HTML and shells, in
base64 at each of its three alignments, and in hex. What shows instead is `***` and the key's last two characters.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

_SHORTEST_KEY = 8


class Redactor:
    """Knows the live keys. Without any, everything passes as it is, at no cost.

    All methods take time in proportion to their input, and may be called from several threads.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._forms = _Forms({})
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Make `key` known: at least 8 characters of printable ASCII.

        Raises:
            ValueError: it is not; hiding so short a text would spoil clean ones.
        """
        if len(key) < _SHORTEST_KEY or not (key.isascii() and key.isprintable()):
            raise ValueError("a key is at least 8 characters of printable ASCII")
        # A new object, so that whoever reads the old one in another thread sees a whole one.
        self._forms = _Forms({**self._forms.shown, **dict(_forms_of(key))})

    def text(self, text: str) -> str:
        """Return `text` without any live key."""
        forms = self._forms
        if not any(form in text for form in forms.shown):
            return text
        return forms.pattern.sub(lambda found: forms.shown[found[0]], text)

    def data(self, data: bytes) -> bytes:
        """Return `data` without any live key; bytes that are not text stay as they are."""
        forms = self._forms
        if not any(form in data for form in forms.shown_bytes):
            return data
        return forms.pattern_bytes.sub(lambda found: forms.shown_bytes[found[0]], data)

    def json(self, value: Any) -> Any:
        """Return the JSON `value` without any live key in its strings and names."""
        if not self._forms.shown:
            return value
        return self._json(value)

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._json(name): self._json(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._json(item) for item in value]
        return value

    def holds_key(self, value: str | bytes) -> bool:
        """Say whether a live key is in `value`, in any of its forms."""
        if isinstance(value, bytes):
            return any(form in value for form in self._forms.shown_bytes)
        return any(form in value for form in self._forms.shown)

    def marks(self, data: bytes) -> frozenset[bytes]:
        """Return what `data` shows in place of the live keys in it; empty where there are none."""
        forms = self._forms
        if not any(form in data for form in forms.shown_bytes):
            return frozenset()
        return frozenset(forms.shown_bytes[found] for found in forms.pattern_bytes.findall(data))

    def stream(self) -> RedactingStream:
        """Return what redacts data that comes in pieces, a key cut in two by them included."""
        return RedactingStream(self)

    def _cut(self, held: bytes) -> tuple[bytes, bytes]:
        """Redact the part of `held` that no later data can change; return it, and the rest as it is."""
        forms = self._forms
        if not forms.shown:
            return held, b""
        keep = forms.unfinished(held, 0)
        if not any(form in held for form in forms.shown_bytes):
            return held[:keep], held[keep:]
        done: list[bytes] = []
        position = 0
        for found in forms.pattern_bytes.finditer(held):
            # A form that begins earlier than `keep` is whole: more data cannot make a longer one of it.
            if found.start() >= keep:
                break
            done += (held[position : found.start()], forms.shown_bytes[found[0]])
            position = found.end()
            if position > keep:
                keep = forms.unfinished(held, position)
        done.append(held[position:keep])
        return b"".join(done), held[keep:]


class RedactingStream:
    """The pieces it gives back are, put together, `Redactor.data` of the pieces it got, however they were cut.

    It holds back only what may be the beginning of a key.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next piece and return what is certain by now."""
        done, self._held = self._redactor._cut(self._held + data)  # noqa: SLF001 - the other half of the same idea
        return done

    def finish(self) -> bytes:
        """Return the rest: nothing follows."""
        rest, self._held = self._held, b""
        return self._redactor.data(rest)


class _Forms:
    """Every form of every key, with what is shown in its place."""

    def __init__(self, shown: dict[str, str]) -> None:
        self.shown = shown
        self.shown_bytes = {form.encode(): text.encode() for form, text in shown.items()}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self.shown, key=len, reverse=True))))

    @cached_property
    def pattern_bytes(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(map(re.escape, sorted(self.shown_bytes, key=len, reverse=True))))

    @cached_property
    def _beginnings(self) -> frozenset[bytes]:
        return frozenset(form[:end] for form in self.shown_bytes for end in range(1, len(form)))

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.shown_bytes))

    def unfinished(self, data: bytes, start: int) -> int:
        """Where, at or after `start`, begins the longest end of `data` that is the beginning of a form."""
        for position in range(max(start, len(data) - self._longest + 1), len(data)):
            if data[position:] in self._beginnings:
                return position
        return len(data)


def _forms_of(key: str) -> Iterator[tuple[str, str]]:
    """Give each form of `key`, and what is shown for it: fit for the place where that form stands."""
    end = key[-2:]
    for escape in _escapes():
        yield escape(key), f"***{escape(end)}"
    raw = key.encode()
    shown = f"***{_json(end)}"
    for form in (*_base64_forms(raw), raw.hex(), raw.hex().upper()):
        yield form, shown
    yield key, f"***{end}"  # last: where an escaped form is the key itself, this is what holds


def _escapes() -> Iterator[Callable[[str], str]]:
    from html import escape as escape_html

    for escape in (_json, _json_slash, _json_html, _json_html_upper):
        yield escape
        yield lambda text, escape=escape: _json(escape(text))  # type: ignore[misc]  # JSON as a string inside of JSON
    for safe in ("/", "", "!'()*"):  # Python's, a query's, and JavaScript's idea of what need not be escaped
        yield lambda text, safe=safe: quote(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=safe: _lower_hex(quote(text, safe=safe))  # type: ignore[misc]
    yield quote_plus
    yield lambda text: _lower_hex(quote_plus(text))
    yield escape_html
    yield lambda text: escape_html(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    for escape in (_repr, _bash, _shlex):
        yield escape
        yield lambda text, escape=escape: _json(escape(text))  # type: ignore[misc]  # that as a string inside of JSON


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


def _json_html(text: str) -> str:
    return re.sub("[<>&']", lambda found: f"\\u{ord(found[0]):04x}", _json(text))


def _json_html_upper(text: str) -> str:
    return re.sub("[<>&']", lambda found: f"\\u{ord(found[0]):04X}", _json(text))


def _lower_hex(quoted: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Give the characters of base64 that `raw` alone decides, for each alignment it may have in longer data."""
    for before in range(3):
        first = -(-before * 8 // 6)
        after = (before + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(bytes(before) + raw).decode()[first:after]
