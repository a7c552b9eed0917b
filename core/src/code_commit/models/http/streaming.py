"""Find the events in the bytes of a streamed reply. No library: httpx-sse limits neither a line nor an event."""

from __future__ import annotations

from collections.abc import Iterator

from code_commit.plugin_api.conversation import ProviderError
from code_commit.plugin_api.provider import StreamEvent


class EventParser:
    """Finds server-sent events, or with `lines` those of NDJSON, wherever the bytes are cut.

    Neither an event nor a line is larger than `cap` bytes.
    """

    def __init__(self, cap: int, *, lines: bool) -> None:
        self._cap = cap
        self._is_lines = lines
        self._line = bytearray()  # the beginning of an unfinished line
        self._data = bytearray()
        self._name = ""
        self._mark = b"\xef\xbb\xbf"  # may begin the first line
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[StreamEvent]:
        """Yield the events that end in `piece`.

        Raises:
            ProviderError: an event is too large, or the service sent an error that is no event.
        """
        piece = piece.removeprefix(b"\n" * self._after_cr)
        self._after_cr = piece.endswith(b"\r")
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        self._line += piece[:end]
        for line in bytes(self._line).splitlines() if end else ():
            self._limit(line)
            text, self._mark = line.removeprefix(self._mark), b""
            name, _, value = text.partition(b":")
            if self._is_lines:
                if text.strip():
                    yield StreamEvent("", text)
            elif name == b"data":
                self._data += value.removeprefix(b" ") + b"\n"
                self._limit(self._data)
            elif name == b"event":
                self._name = value.removeprefix(b" ").decode("utf-8", "replace")
            elif text[:1] == b"{":  # an error of Google's in mid-stream, on several lines without `data:`
                raise ProviderError("the reply broke off with an error of the service", kind="network")
            elif not text:
                if self._data:
                    yield StreamEvent(self._name, bytes(self._data[:-1]))
                self._name = ""
                self._data.clear()
        if end:
            self._line.clear()
        self._line += piece[end:]
        self._limit(self._line)

    def _limit(self, part: bytes | bytearray) -> None:
        if len(part) > self._cap:
            raise ProviderError(f"an event of the reply is larger than {self._cap} bytes", kind="invalid_response")
