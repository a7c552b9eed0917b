"""Limit the replies of an MCP server over HTTP, because the SDK keeps a whole reply in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from code_commit_toolbox.mcp.pipes import LONGEST_LINE


async def limit_reply(response: httpx2.Response) -> None:
    """Make the stream of `response` fail if it is too long. Called before its body is read."""
    # The length of a compressed reply is unknown. We request none: treat all as uncompressed.
    response.headers.pop("Content-Encoding", None)
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    content_type = response.headers.get("Content-Type", "").lower()
    is_event_stream = content_type.startswith("text/event-stream")
    error = httpx2.SSEError if is_event_stream else httpx2.StreamError
    response.stream = _Limited(response.stream, error)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, error: type[Exception]) -> None:
        self._stream = stream
        self._error = error  # a type that the SDK reports

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = LONGEST_LINE
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise self._error(f"the reply has more than {LONGEST_LINE} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
