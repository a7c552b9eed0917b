"""Makes calls of Bedrock: one try each, until its deadline."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Iterator

import httpx
from code_commit.plugin_api import Completion, ModelCall, ProviderError, reply_object

from code_commit_bedrock.config import BedrockConfig
from code_commit_bedrock.converse import (
    CredentialsExpired,
    body_of,
    completion_of,
    error_of,
    path_of,
)
from code_commit_bedrock.signing import Signer
from code_commit_bedrock.stream import StreamedReply, events_of

LARGEST = 64 * 1024 * 1024  # bytes of a reply
LONGEST = 24 * 3600.0  # seconds

Arrived = queue.SimpleQueue[httpx.Response | bytes | Exception | None]


class BedrockProvider:
    """A `Provider`. A thread talks to the service, so that `complete` always ends in time."""

    def __init__(self, config: BedrockConfig) -> None:
        self._config = config
        self._signer = Signer(config)
        self._address = (
            config.endpoint or f"https://bedrock-runtime.{self._signer.region}.amazonaws.com"
        ).rstrip("/")
        self._lock = threading.Lock()
        self._closed = False
        self._waiting: set[Arrived] = set()

    def complete(self, call: ModelCall) -> Completion:
        """Answer `call.request`. If the credentials have expired, ask once more with new ones."""
        try:
            return self._asked(call)
        except CredentialsExpired:
            self._signer.renew()
            return self._asked(call)

    def close(self) -> None:
        """End the calls under way, from any thread."""
        with self._lock:
            self._closed = True
            waiting = list(self._waiting)
        for arrived in waiting:
            arrived.put(ProviderError("the call was aborted", kind="rejected"))

    def _asked(self, call: ModelCall) -> Completion:
        url = self._address + path_of(self._config, stream=call.stream)
        body = json.dumps(body_of(call.request, self._config)).encode()
        arrived: Arrived = queue.SimpleQueue()
        with self._lock:
            if self._closed:
                raise ProviderError("the provider is closed", kind="rejected")
            self._waiting.add(arrived)
        threading.Thread(target=self._post, args=(url, body, call, arrived), daemon=True).start()
        try:
            return self._received(call, arrived)
        finally:
            with self._lock:
                self._waiting.discard(arrived)

    def _received(self, call: ModelCall, arrived: Arrived) -> Completion:
        response = _next(arrived, call.deadline)
        assert isinstance(response, httpx.Response)
        status, headers = response.status_code, response.headers
        pieces = _pieces(arrived, call.deadline)
        if status >= 300:
            raise error_of(status, headers, b"".join(pieces))
        if "eventstream" not in headers.get("content-type", ""):
            return completion_of(reply_object(b"".join(pieces), status, headers), self._config)
        reply = StreamedReply()
        for event in events_of(pieces):
            call.progress(event)
            for delta in reply.feed(event):
                call.progress(delta)
        return completion_of(reply.whole(), self._config)

    def _post(self, url: str, body: bytes, call: ModelCall, arrived: Arrived) -> None:
        """Send the request; put the head of the reply, its pieces and None, or an error."""
        try:
            headers = self._signer.headers(url, body, call.hide)
            # The longest silence, which ends an abandoned thread.
            seconds = max(call.deadline - time.monotonic(), 0.01)
            with httpx.stream(
                "POST", url, content=body, headers=headers, timeout=seconds
            ) as response:
                arrived.put(response)
                for piece in response.iter_bytes():
                    if arrived not in self._waiting:
                        return
                    arrived.put(piece)
            arrived.put(None)
        except httpx.HTTPError as error:
            name = type(error).__name__  # its text may contain the address
            arrived.put(ProviderError(f"the service could not be reached: {name}", kind="network"))
        except Exception as error:
            arrived.put(error)


def _next(arrived: Arrived, deadline: float) -> httpx.Response | bytes | None:
    try:
        piece = arrived.get(timeout=min(max(deadline - time.monotonic(), 0), LONGEST))
    except queue.Empty:
        raise ProviderError("the call reached its time limit", kind="network") from None
    if isinstance(piece, Exception):
        raise piece
    return piece


def _pieces(arrived: Arrived, deadline: float) -> Iterator[bytes]:
    size = 0
    while isinstance(piece := _next(arrived, deadline), bytes):
        size += len(piece)
        if size > LARGEST:
            raise ProviderError(f"the reply has more than {LARGEST} bytes", kind="invalid_response")
        yield piece
