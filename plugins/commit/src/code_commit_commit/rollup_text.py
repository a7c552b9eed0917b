"""Build the text of a code rollup, file by file: a line with the path, then the content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from code_commit.plugin_api import estimate_tokens

LARGEST = 16 * 1024 * 1024  # bytes of one file
UNREADABLE = "It cannot be read."
_POINTER = b"version https://git-lfs.github.com/spec/"
_SAMPLES, _SAMPLE = 64, 512  # samples of a batch, for the estimate of tokens, and bytes of each
_ESTIMATED = 64  # samples that are looked at
_BATCH = 1024 * 1024  # bytes; a larger one does not stay in the processor's cache


@dataclass
class Rollup:
    """Where each collected file begins and ends in the rollup, in bytes, by path.

    `left_out` has the reason for each other file that matches the patterns; `pointers` are collected files whose
    contents are in Git LFS. `size` is in bytes. `samples` are parts of the text.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    pointers: list[str] = field(default_factory=list)
    size: int = 0
    samples: list[bytes] = field(default_factory=list, repr=False)

    @cached_property
    def tokens(self) -> int:
        """The approximate number of tokens; the exact number depends on the model."""
        sample = b"".join(self.samples[:: len(self.samples) // _ESTIMATED + 1])
        return round(estimate_tokens(sample.decode("utf-8", "ignore")) * self.size / (len(sample) or 1))


def batches(contents: Iterable[tuple[str, bytes | None]], rollup: Rollup) -> Iterator[bytes]:
    """Yield the text of the files with these `contents`, in pieces, and add the files to `rollup`."""
    pieces: list[bytes] = []
    places: dict[str, tuple[int, int]] = {}
    size = rollup.size
    for path, content in contents:
        if content is None:
            rollup.left_out[path] = UNREADABLE
            continue
        head = f"--- {path} ---\n".encode()
        start = size + len(head)
        size = start + len(content)
        places[path] = start, size
        pieces.append(head)
        pieces.append(content)
        if content and not content.endswith(b"\n"):
            pieces.append(b"\n")
            size += 1
        if size - rollup.size >= _BATCH:
            yield _add(b"".join(pieces), places, rollup)
            pieces.clear()
            places.clear()
            size = rollup.size
    yield _add(b"".join(pieces), places, rollup)


def _add(text: bytes, places: Mapping[str, tuple[int, int]], rollup: Rollup) -> bytes:
    """Add the files at `places` in `text`, which continues `rollup`; return the text without files that are no text."""
    begin = rollup.size
    if not text.isascii() or b"\0" in text:
        contents = {path: text[start - begin : end - begin] for path, (start, end) in places.items()}
        texts = [(path, content) for path, content in contents.items() if _is_text(content)]
        if len(texts) < len(contents):
            rollup.left_out |= dict.fromkeys(contents.keys() - dict(texts).keys(), "It is not UTF-8 text.")
            return b"".join(batches(texts, rollup))
    rollup.files |= places
    rollup.pointers += [path for path, (start, _) in places.items() if text.startswith(_POINTER, start - begin)]
    rollup.size += len(text)
    step = max(len(text) // _SAMPLES, _SAMPLE)
    rollup.samples += [text[start : start + _SAMPLE] for start in range(0, len(text), step)]
    return text


def _is_text(content: bytes) -> bool:
    """Return whether a prompt can contain `content`: UTF-8 without NUL."""
    if b"\0" in content:
        return False
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False
