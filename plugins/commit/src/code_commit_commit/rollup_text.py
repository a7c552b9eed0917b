"""Build the text of a code rollup, file by file: a line with the path, then the content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from code_commit.plugin_api import ArrivingText

LARGEST = 16 * 1024 * 1024  # bytes of one file
UNREADABLE = "It cannot be read."
_POINTER = b"version https://git-lfs.github.com/spec/"
_BATCH = 2 * 1024 * 1024  # bytes


@dataclass
class Rollup:
    """Where each collected file begins and ends in the rollup, in bytes, by path.

    `left_out` has the reason for each other file that matches the patterns; `pointers` are
    collected files whose contents are in Git LFS.
    """

    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    pointers: list[str] = field(default_factory=list)
    text: ArrivingText = field(default_factory=ArrivingText, repr=False)

    @property
    def size(self) -> int:
        """The bytes of the text."""
        return self.text.size

    @property
    def tokens(self) -> int:
        """The approximate number of tokens; the exact number depends on the model."""
        return self.text.tokens


Batch = Sequence[tuple[str, bytes | None]]
"""Some paths, each with the content of its file, or None for a file that cannot be read."""


def batches(contents: Iterable[tuple[str, bytes | None]]) -> Iterator[Batch]:
    """Divide `contents` into batches that stay in the processor's cache."""
    batch: list[tuple[str, bytes | None]] = []
    size = 0
    for path, content in contents:
        batch.append((path, content))
        size += len(content or b"")
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def add(batch: Batch, rollup: Rollup) -> bytes:
    """Add the files of a batch to `rollup`, and return their text.

    Leave out files that are no text.
    """
    pieces: list[bytes] = []
    places: dict[str, tuple[int, int]] = {}
    size = rollup.size
    for path, content in batch:
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
    text = b"".join(pieces)
    if not text.isascii() or b"\0" in text:
        texts = {
            path: content for path, content in batch if content is not None and _is_text(content)
        }
        if len(texts) < len(places):
            not_text = places.keys() - texts.keys()
            rollup.left_out |= dict.fromkeys(not_text, "It is not UTF-8 text.")
            return add(list(texts.items()), rollup)
    begin = rollup.size
    rollup.files |= places
    rollup.pointers += [
        path for path, (start, _) in places.items() if text.startswith(_POINTER, start - begin)
    ]
    rollup.text.add(text)
    return text


def _is_text(content: bytes) -> bool:
    """Return whether a prompt can contain `content`: UTF-8 without NUL."""
    if b"\0" in content:
        return False
    try:
        return content.isascii() or bool(content.decode())
    except UnicodeDecodeError:
        return False
