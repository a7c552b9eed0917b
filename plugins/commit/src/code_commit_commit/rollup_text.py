"""Build the text of a code rollup, file by file: a line with the path, then the content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    batch: list[tuple[str, bytes]] = []
    size = 0
    for path, content in contents:
        if content is None:
            rollup.left_out[path] = UNREADABLE
            continue
        batch.append((path, content))
        size += len(content)
        if size >= _BATCH:
            yield _add(batch, rollup)
            batch.clear()
            size = 0
    yield _add(batch, rollup)


def _add(batch: Sequence[tuple[str, bytes]], rollup: Rollup) -> bytes:
    """Add the files of `batch` to `rollup`; return their text."""
    text, places = _joined(batch, rollup.size)
    if not text.isascii() or b"\0" in text:
        texts = [(path, content) for path, content in batch if _is_text(content)]
        if len(texts) < len(batch):
            text, places = _joined(texts, rollup.size)
            rollup.left_out |= {path: "It is not UTF-8 text." for path, _ in batch if path not in places}
    rollup.files |= places
    rollup.pointers += [path for path, content in batch if content.startswith(_POINTER) and path in places]
    rollup.size += len(text)
    step = max(len(text) // _SAMPLES, _SAMPLE)
    rollup.samples += [text[start : start + _SAMPLE] for start in range(0, len(text), step)]
    return text


def _joined(batch: Sequence[tuple[str, bytes]], size: int) -> tuple[bytes, dict[str, tuple[int, int]]]:
    """Return the text of the files in `batch`, and where each begins and ends after the `size` bytes before it."""
    pieces: list[bytes] = []
    places: dict[str, tuple[int, int]] = {}
    for path, content in batch:
        head = f"--- {path} ---\n".encode()
        start = size + len(head)
        size = start + len(content)
        places[path] = start, size
        pieces += head, content
        if content and not content.endswith(b"\n"):
            pieces.append(b"\n")
            size += 1
    return b"".join(pieces), places


def _is_text(content: bytes) -> bool:
    """Return whether a prompt can contain `content`: UTF-8 without NUL."""
    if b"\0" in content:
        return False
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False
