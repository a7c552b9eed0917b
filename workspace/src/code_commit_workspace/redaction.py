"""Remove live keys from everything that leaves the program: logs, terminal, JSON, prompts, file names.

A key is found in plain text and in the forms of `key_forms`. It is replaced by `***` and its last two characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

_SHORTEST_KEY = 8


class Redactor:
    """Removes live keys. Without any, everything passes unchanged, at no cost.

    All methods take linear time and are thread-safe.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._forms = _Forms({})
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Add a live key: at least 8 characters of printable ASCII.

        Raises:
            ValueError: it is not; replacing so short a text would damage clean ones.
        """
        if len(key) < _SHORTEST_KEY or not (key.isascii() and key.isprintable()):
            raise ValueError("a key is at least 8 characters of printable ASCII")
        from code_commit_workspace.key_forms import forms_of

        # Replace the object, so that other threads always see a complete one.
        self._forms = _Forms({**self._forms.shown, **dict(forms_of(key))})

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
        """Return the JSON `value` without any live key in its strings and object names."""
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
        """Return whether `value` holds a live key, in any form."""
        if isinstance(value, bytes):
            return any(form in value for form in self._forms.shown_bytes)
        return any(form in value for form in self._forms.shown)

    def marks(self, data: bytes) -> frozenset[bytes]:
        """Return the replacements for the live keys in `data`; empty without keys."""
        forms = self._forms
        if not any(form in data for form in forms.shown_bytes):
            return frozenset()
        return frozenset(forms.shown_bytes[found] for found in forms.pattern_bytes.findall(data))

    def stream(self) -> RedactingStream:
        """Return a redactor for data in pieces; it finds keys across their borders."""
        return RedactingStream(self)

    def _cut(self, held: bytes) -> tuple[bytes, bytes]:
        """Redact the part of `held` that later data cannot change; return it, and the unchanged rest."""
        forms = self._forms
        if not forms.shown:
            return held, b""
        keep = forms.unfinished(held, 0)
        if not any(form in held for form in forms.shown_bytes):
            return held[:keep], held[keep:]
        done: list[bytes] = []
        position = 0
        for found in forms.pattern_bytes.finditer(held):
            # A form that begins before `keep` is complete: more data cannot make it longer.
            if found.start() >= keep:
                break
            done += (held[position : found.start()], forms.shown_bytes[found[0]])
            position = found.end()
            if position > keep:
                keep = forms.unfinished(held, position)
        done.append(held[position:keep])
        return b"".join(done), held[keep:]


class RedactingStream:
    """Redacts data in pieces. The joined output equals `Redactor.data` of the joined input.

    It holds back only a possible beginning of a key.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next piece and return what is final."""
        done, self._held = self._redactor._cut(self._held + data)  # noqa: SLF001 - same module
        return done

    def finish(self) -> bytes:
        """End the stream and return the rest."""
        rest, self._held = self._held, b""
        return self._redactor.data(rest)


class _Forms:
    """Every form of every key, with its replacement."""

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
        """Return where, from `start`, the longest suffix of `data` begins that is the beginning of a form."""
        for position in range(max(start, len(data) - self._longest + 1), len(data)):
            if data[position:] in self._beginnings:
                return position
        return len(data)
