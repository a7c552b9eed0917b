"""The bytes of a streamed reply, and their delivery."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from code_commit.plugin_api import StreamEvent
from code_commit_testing.scripted_events import error_event, event_bytes, events_of
from code_commit_testing.scripted_replies import Break, Protocol, Reply, Stream, answer_of

_GATE_SECONDS = 0.02  # between two looks at whether the server ends
_TRICKLE_SECONDS = 0.05

Pieces = Iterator[tuple[bytes, bool]]
"""What is sent at once, and whether it is an event, for which the gate must open."""


@dataclass(frozen=True, slots=True)
class StreamedReply:
    """The pieces of a streamed reply, its type, and what follows the last piece."""

    stream: Stream
    pieces: Pieces
    content_type: str
    then: Break


def streamed(reply: Reply, protocol: Protocol, *, model: str, sse: bool) -> StreamedReply | None:
    """Return `reply` as the service streams it; None if it answers as a whole, as with an error.

    Without `sse`, the events are a JSON list, as Gemini sends them then.
    """
    stream = reply.stream
    if stream is None:
        return None
    events: Iterator[StreamEvent | bytes]
    if stream.events is not None:
        events, sse = iter(stream.events), True
    else:
        status, body = answer_of(protocol, reply, model=model)
        if reply.body is not None or status >= 400:  # noqa: PLR2004 - the HTTP errors
            return None
        events = events_of(protocol, json.loads(body), piece=stream.piece)
    events, then = _broken_off(events, stream, protocol)
    pieces = _with_keep_alives(events, stream, protocol) if sse else _listed(events)
    if stream.gzip:
        pieces = _compressed(pieces, whole=then == "end")
    if stream.after_bytes is not None:
        pieces = _cut(pieces, stream.after_bytes)
    if reply.fault in {"half", "stall"}:
        whole = b"".join(piece for piece, _ in pieces)
        pieces = iter([(whole[: len(whole) // 2], False)])
        then = "drop" if reply.fault == "half" else "stall"
    elif reply.fault == "trickle":
        pieces = ((bytes([byte]), False) for piece, _ in pieces for byte in piece)
    if not sse:
        kind = "application/json"
    elif stream.lines:
        kind = "application/x-ndjson"
    else:
        kind = "text/event-stream"
    return StreamedReply(stream, pieces, kind, then)


def _broken_off(
    events: Iterator[StreamEvent | bytes],
    stream: Stream,
    protocol: Protocol,
) -> tuple[Iterator[StreamEvent | bytes], Break]:
    if stream.after is not None:
        events = islice(events, stream.after)
    if not isinstance(stream.then, Reply):
        return events, stream.then if stream.breaks_off else "end"
    if stream.after is not None:
        events = chain(events, [error_event(protocol, answer_of(protocol, stream.then)[1])])
    return events, "end"


def deliver(
    answer: StreamedReply,
    write: Callable[[bytes], object],
    closing: threading.Event,
    *,
    slow: bool,
) -> bool:
    """Write the pieces as HTTP chunks, and return whether all were sent before the server ended."""
    for piece, is_event in answer.pieces:
        if is_event and not _may_send(answer.stream, closing):
            return False
        if piece:
            write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if slow and closing.wait(_TRICKLE_SECONDS):
            return False
    return True


def _may_send(stream: Stream, closing: threading.Event) -> bool:
    while stream.gate is not None and not stream.gate.acquire(timeout=_GATE_SECONDS):
        if closing.is_set():
            return False
    return not closing.wait(stream.seconds)


def _with_keep_alives(
    events: Iterator[StreamEvent | bytes],
    stream: Stream,
    protocol: Protocol,
) -> Pieces:
    newline = stream.newline or ("\r\n" if protocol == "gemini" else "\n")
    if stream.lines:
        keep_alive = newline.encode()
    elif protocol == "anthropic":
        keep_alive = event_bytes(StreamEvent("ping", b'{"type": "ping"}'), newline)
    else:
        keep_alive = f": keep-alive{newline}{newline}".encode()
    for event in events:
        for _ in range(stream.keep_alives):
            yield keep_alive, False
        if isinstance(event, bytes):
            yield event, True
        elif stream.lines:
            yield event.data + newline.encode(), True
        else:
            yield event_bytes(event, newline), True


def _listed(events: Iterator[StreamEvent | bytes]) -> Pieces:
    before = b"["
    for event in events:
        yield before + (event if isinstance(event, bytes) else event.data), True
        before = b"\n,\r\n"
    yield b"]", False


def _compressed(pieces: Pieces, *, whole: bool) -> Pieces:
    """Compress with gzip; each piece can be read as soon as it arrives."""
    gzip = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    for piece, is_event in pieces:
        yield gzip.compress(piece) + gzip.flush(zlib.Z_SYNC_FLUSH), is_event
    if whole:
        yield gzip.flush(), False


def _cut(pieces: Pieces, size: int) -> Pieces:
    for piece, is_event in pieces:
        if size <= 0:
            return
        yield piece[:size], is_event
        size -= len(piece)
