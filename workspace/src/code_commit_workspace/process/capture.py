"""Capture the output of a process: redact it, and write it to the log as it arrives.

Both ends of it stay in memory.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.terminal_text import TerminalRows

_TAIL_ON_DISK = 1024 * 1024


class HeadAndTail:
    """Keeps the first and last bytes of its input, `limit` bytes together, and counts all bytes."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Cut only occasionally, or each small piece would move the whole tail.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def value(self) -> bytes:
        """Return everything, or both ends and between them the number of bytes left out."""
        left_out = self.total - self._head_limit - self._tail_limit
        if left_out <= 0:
            return bytes(self._head + self._tail)
        gap = b"\n[... %d bytes left out ...]\n" % left_out
        tail = self._tail[len(self._tail) - self._tail_limit :]
        return bytes(self._head + gap + tail)


class CappedFile:
    """Writes its input to a file at once, at most `limit` bytes.

    Beyond that, it keeps the last bytes and writes them at the end.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        tail = min(_TAIL_ON_DISK, limit // 2)
        self._file = file
        self._room = limit - tail
        self._beyond = HeadAndTail(tail)
        self._at_line_start = True

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._room > 0:
            head = data[: self._room]
            self._write(head)
            self._room -= len(head)
            data = data[len(head) :]
        if data:
            self._beyond.feed(data)

    def finish(self) -> None:
        """Write the tail, and end the last line."""
        self._write(self._beyond.value())
        if not self._at_line_start:
            self._write(b"\n")

    def _write(self, data: bytes) -> None:
        if data:
            _write(self._file, data)
            self._at_line_start = data.endswith(b"\n")


class Output:
    """The output of a process: what a terminal would show in memory, all of it on disk."""

    def __init__(
        self,
        redactor: Redactor,
        file: IO[bytes],
        *,
        in_memory: int,
        on_disk: int,
    ) -> None:
        self._redacting = redactor.stream()
        self._rows = TerminalRows()
        self._redacting_rows = redactor.stream()  # overwriting may put a key together
        self._memory = HeadAndTail(in_memory)
        self._disk = CappedFile(file, on_disk)

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._keep(self._redacting.feed(data))

    def finish(self) -> bytes:
        """End the stream, and return what is kept in memory."""
        self._keep(self._redacting.finish())
        self._memory.feed(self._redacting_rows.feed(self._rows.finish()))
        self._memory.feed(self._redacting_rows.finish())
        self._disk.finish()
        return self._memory.value()

    def _keep(self, data: bytes) -> None:
        if data:
            rows = self._rows.feed(data)
            self._memory.feed(self._redacting_rows.feed(rows))
            self._disk.feed(data)


class ProcessLog:
    """The log of one process: its command, its output, and how it ended.

    It is written as output arrives. The result gets `in_memory` bytes of the output, the log
    `on_disk` bytes.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        heading: str,
        *,
        in_memory: int,
        on_disk: int,
    ) -> None:
        self._redactor = redactor
        self._file = _new_file(path)
        self._note(f"{heading}\n\n--- output ---\n")
        self.output = Output(redactor, self._file, in_memory=in_memory, on_disk=on_disk)
        self._in_memory: bytes | None = None  # known at the end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.finish()
        finally:
            self._file.close()

    def finish(self) -> bytes:
        """Complete the output, and return the part kept in memory."""
        if self._in_memory is None:
            self._in_memory = self.output.finish()
        return self._in_memory

    def end(self, ending: str) -> None:
        """Write how the process ended."""
        self.finish()
        self._note(f"\n--- end ---\n{ending}\n")

    def _note(self, text: str) -> None:
        _write(self._file, self._redactor.text(text).encode("utf-8", "backslashreplace"))


def _write(file: IO[bytes], data: bytes) -> None:
    # The file is unbuffered, so that a killed run loses no output: a write may take only a part.
    while data:
        written = file.write(data)
        data = data[written:]


def _new_file(path: Path) -> IO[bytes]:
    # Never write through what an earlier process may have put there, such as a link.
    with suppress(FileNotFoundError):
        path.unlink()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    return os.fdopen(handle, "wb", buffering=0)
