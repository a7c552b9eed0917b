"""Find the events in the bytes of a streamed reply.

No library: httpx-sse limits neither a line nor an event.
"""

from __future__ import annotations

from collections.abc import Iterator

from code_commit.plugin_api.conversation import ProviderError
from code_commit.plugin_api.provider import StreamEvent


class EventParser:
    """Finds server-sent events, or with `lines` those of NDJSON, wherever the bytes are cut.

    Neither an event nor a line is larger than `cap` bytes. An error that a service sends in another
    form becomes an event named `error`: a field `error:` (llama.cpp), or JSON on lines of its own
    (Google).
    """

    def __init__(self, cap: int, *, lines: bool) -> None:
        self._cap = cap
        self._is_lines = lines
        self._line = bytearray()  # the beginning of an unfinished line
        self._data: bytes | None = None  # the first line of an event's data
        self._more = bytearray()  # its other lines
        self._name = ""
        self._stray = bytearray()  # JSON on lines of its own
        self._mark = b"\xef\xbb\xbf"  # may begin the first line
        self._after_cr = False

    def feed(self, piece: bytes) -> Iterator[StreamEvent]:
        """Yield the events that end in `piece`.

        Raises:
            ProviderError: an event is too large.
        """
        if self._after_cr:
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
        if end:
            self._line += piece[:end]
            lines = bytes(self._line).removeprefix(self._mark).splitlines()
            self._line = bytearray()
            self._mark = b""
            for line in lines:
                if len(line) > self._cap:
                    raise self._too_large()
                if not line:
                    if self._data is not None:
                        yield StreamEvent(self._name, self._data + self._more)
                    self._data = None
                    self._name = ""
                    self._more.clear()
                elif self._is_lines:
                    if line.strip():
                        yield StreamEvent("", line)
                elif self._data is None and line.startswith(b"data: "):  # nearly all of them
                    self._data = line[6:]
                else:
                    yield from self._unusual(line)
        self._line += piece[end:]
        if len(self._line) > self._cap:
            raise self._too_large()

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data" and self._data is None:
            self._data = value
        elif name == b"data":
            self._more += b"\n" + value
            if len(self._data or b"") + len(self._more) >= self._cap:
                raise self._too_large()
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        elif name == b"error" and self._data is None:
            self._name = "error"
            self._data = value

    def finish(self) -> Iterator[StreamEvent]:
        """Yield the last event, if its end is missing: a line of NDJSON, or an error."""
        is_error = self._stray or self._name == "error" or self._line.startswith(b"error:")
        if self._is_lines or is_error:
            yield from self.feed(b"\n\n")
        if self._stray:
            yield StreamEvent("error", bytes(self._stray))

    def _unusual(self, line: bytes) -> Iterator[StreamEvent]:
        """Take a field, or a line of a JSON document that is no event: yield it as an error."""
        if not self._stray and line[:1] != b"{":
            self._field(line)
            return
        self._stray += line + b"\n"
        if len(self._stray) > self._cap:
            raise self._too_large()
        is_one_line = len(self._stray) == len(line) + 1 and line.rstrip().endswith(b"}")
        if line[:1] == b"}" or is_one_line:
            yield StreamEvent("error", bytes(self._stray))
            self._stray.clear()

    def _too_large(self) -> ProviderError:
        return ProviderError(
            f"an event of the reply is larger than {self._cap} bytes", kind="invalid_response"
        )
