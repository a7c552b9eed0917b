"""The pipes of a server as a transport of the MCP SDK, with a limit on each line.

The SDK's own transport keeps an endless line in memory, without a limit.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import IO, Any

import anyio
from anyio.from_thread import BlockingPortal
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from code_commit_toolbox.mcp.process import ServerProcess

LONGEST_LINE = 8 * 1024 * 1024  # bytes
_CHUNK = 256 * 1024
_KEPT = 4096  # bytes of stderr


class StderrTail:
    """Reads the stderr of a server, and keeps its last bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._tail = b""
        threading.Thread(target=self._read, args=(stream,), name="mcp stderr", daemon=True).start()

    @property
    def text(self) -> str:
        """The last line."""
        return self._tail.decode("utf-8", "replace").strip().rpartition("\n")[2]

    def _read(self, stream: IO[bytes]) -> None:
        for chunk in _chunks(stream):
            self._tail = (self._tail + chunk)[-_KEPT:]


@asynccontextmanager
async def pipe_transport(
    process: ServerProcess, portal: BlockingPortal
) -> AsyncGenerator[Any, None]:
    """Yield the streams of `process` for a client.

    Threads read and write the pipes, so that none blocks the loop.
    """
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sent, sent_out = anyio.create_memory_object_stream[SessionMessage](0)
    waiting: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        # The run has ended.
        with suppress(RuntimeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            for line in lines(process):
                portal.call(received_in.send, _message(line))
        with suppress(RuntimeError):
            portal.call(received_in.aclose)

    def write() -> None:
        with suppress(OSError, ValueError):  # the server has ended, which `read` notices
            while (line := waiting.get()) is not None:
                view = memoryview(line)
                while view:
                    view = view[process.stdin.write(view) or 0 :]

    async def forward() -> None:
        async for message in sent_out:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            waiting.put(text.encode() + b"\n")

    for target in (read, write):
        threading.Thread(target=target, name=f"mcp {target.__name__}", daemon=True).start()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forward)
            yield received, sent
            tasks.cancel_scope.cancel()
    finally:
        waiting.put(None)
        for stream in (received, sent, sent_out):
            stream.close()


def lines(process: ServerProcess) -> Iterator[bytes]:
    """Yield the lines that a server writes. Kill it if a line is too long."""
    pieces: list[bytes] = []
    length = 0
    for chunk in _chunks(process.stdout):
        *ends, begin = chunk.split(b"\n")
        for end in ends:
            yield b"".join((*pieces, end))
            pieces = []
            length = 0
        pieces.append(begin)
        length += len(begin)
        if length > LONGEST_LINE:
            process.kill()
            return


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    with suppress(OSError, ValueError):  # closed at the end of the run
        while chunk := os.read(stream.fileno(), _CHUNK):
            yield chunk


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
