"""The result of a unit as bytes, which a worker sends and the driver unpacks. Both limit its size.

It is a line of JSON (the record, and name and size of each file), then the files, compressed
together.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SENT_LIMIT = 32 * 1024 * 1024  # bytes of a result, compressed
FILE_LIMIT = 64 * 1024 * 1024  # bytes of all files of a result
_HEAD_LIMIT = 4 * 1024 * 1024
_CHUNK = 256 * 1024
_NAME = re.compile(r"(?!\.)[A-Za-z0-9_][A-Za-z0-9_. +@=,-]{0,199}")


def pack(record: dict[str, Any], files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a result.

    If the files are too large together, cut the last ones to their tails, or leave them out.
    """
    packer = zlib.compressobj(1)
    parts: list[bytes] = []
    index: list[tuple[str, int]] = []
    left, room = FILE_LIMIT, SENT_LIMIT - _HEAD_LIMIT
    for name, content in files:
        data = content[max(0, len(content) - left) :]
        if room - len(data) < 0:  # it may not fit, even compressed
            data = data[max(0, len(data) - max(0, room)) :]
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
        head = json.loads(data[:end])
        record, files = head["record"], [(str(name), int(size)) for name, size in head["files"]]
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"the result has no record: {error}") from None
    if (
        not isinstance(record, dict)
        or any(size < 0 for _, size in files)
        or sum(size for _, size in files) > FILE_LIMIT
    ):
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
        if not all(_NAME.fullmatch(part) for part in name.split("/")):
            raise ValueError(f"the result has a file named {name!r:.100}")
    unpacker, packed, ready = zlib.decompressobj(), memoryview(data)[start:], b""
    for name, size in files:
        target = folder / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(target, flags, 0o600), "wb") as file:  # noqa: PTH123 - a handle
            missing = size
            while missing:
                if not ready:
                    source = unpacker.unconsumed_tail or bytes(packed[:_CHUNK])
                    if not unpacker.unconsumed_tail:
                        packed = packed[_CHUNK:]
                    if not source:
                        raise ValueError("the result is cut short")
                    try:
                        ready = unpacker.decompress(source, _CHUNK)
                    except zlib.error as error:
                        raise ValueError(f"the result is damaged: {error}") from None
                    continue
                file.write(ready[:missing])
                missing, ready = missing - len(ready[:missing]), ready[missing:]
    return record
