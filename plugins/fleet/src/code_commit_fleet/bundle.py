"""The result of a unit as bytes, which a worker sends and the driver unpacks. Both limit its size.

It is a line of JSON (the record, and name and size of each file), then the files, compressed
together.
"""

from __future__ import annotations

import io
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from code_commit.plugin_api import read_json

SENT_LIMIT = 32 * 1024 * 1024  # bytes of a result, compressed
FILE_LIMIT = 64 * 1024 * 1024  # bytes of all files of a result
_HEAD_LIMIT = 4 * 1024 * 1024
_CHUNK = 256 * 1024
_REPLACED_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME = re.compile(r"(?!\.)[A-Za-z0-9_][A-Za-z0-9_. +@=,-]{0,199}")


def pack(record: dict[str, Any], files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a result.

    If the files are too large together, cut the last ones to their tails, or leave them out.
    """
    packer = zlib.compressobj(1)
    parts: list[bytes] = []
    index: list[tuple[str, int]] = []
    left = FILE_LIMIT
    room = SENT_LIMIT - _HEAD_LIMIT
    for name, content in files:
        data = _tail(_tail(content, left), room)  # it may not fit, even compressed
        if content and not data:
            continue
        compressed = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
        parts.append(compressed)
        index.append((name, len(data)))
        left -= len(data)
        room -= len(compressed)
    parts.append(packer.flush())
    head = json.dumps({"record": record, "files": index}).encode()
    return b"".join([head, b"\n", *parts])


def _tail(data: bytes, size: int) -> bytes:
    return data[max(0, len(data) - max(0, size)) :]


def read_record(data: bytes) -> tuple[dict[str, Any], list[tuple[str, int]], int]:
    """Return the record, name and size of each file, and the offset where the files begin.

    Raises:
        ValueError: it is not a result.
    """
    if len(data) > SENT_LIMIT:
        raise ValueError(f"the result has {len(data)} bytes")
    end = data.find(b"\n", 0, _HEAD_LIMIT)
    if end < 0:
        raise ValueError("the result has no record")
    try:
        head = read_json(data[:end])
        record = head["record"]
        files = [(str(name), int(size)) for name, size in head["files"]]
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"the result has no record: {error}") from None
    sizes = [size for _, size in files]
    if not isinstance(record, dict) or min(sizes, default=0) < 0 or sum(sizes) > FILE_LIMIT:
        raise ValueError("the result is malformed")
    return record, files, end + 1


def unpack(data: bytes, folder: Path) -> dict[str, Any]:
    """Write the files of a result below `folder`, and return its record.

    Raises:
        ValueError: it is not a result, or names a file elsewhere.
        OSError: a file cannot be written.
    """
    record, files, start = read_record(data)
    for name, _ in files:
        if not is_file_name(name):
            raise ValueError(f"the result has a file named {name!r:.100}")
    contents = _Contents(data[start:])
    for name, size in files:
        target = folder / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(target, _REPLACED_FILE, 0o600)
        with open(handle, "wb") as file:  # noqa: PTH123 - a handle
            file.writelines(contents.read(size))
    return record


def is_file_name(name: str) -> bool:
    """Return whether a result may contain a file with this name."""
    return all(_NAME.fullmatch(part) for part in name.split("/"))


class _Contents:
    """The files of a result, unpacked piece by piece: a small result may be huge unpacked."""

    def __init__(self, packed: bytes) -> None:
        self._packed = io.BytesIO(packed)
        self._unpacker = zlib.decompressobj()
        self._ready = b""

    def read(self, size: int) -> Iterator[bytes]:
        """Yield the next `size` bytes.

        Raises:
            ValueError: there are fewer, or they are damaged.
        """
        while size:
            while not self._ready:
                self._ready = self._unpacked()
            piece = self._ready[:size]
            self._ready = self._ready[size:]
            size -= len(piece)
            yield piece

    def _unpacked(self) -> bytes:
        source = self._unpacker.unconsumed_tail or self._packed.read(_CHUNK)
        if not source:
            raise ValueError("the result is cut short")
        try:
            return self._unpacker.decompress(source, _CHUNK)
        except zlib.error as error:
            raise ValueError(f"the result is damaged: {error}") from None
