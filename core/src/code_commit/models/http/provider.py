"""A `Provider` made of a `Wire`."""

from __future__ import annotations

import json
import logging
import math
import queue
import ssl
import threading
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from itertools import groupby
from operator import itemgetter

import httpx

from code_commit import __version__
from code_commit.models.http.connection import Answer, Content, HttpConnection, ResultQueue, transport_error
from code_commit.models.http.endpoint import Endpoint, checked_address, proxy_for, trust
from code_commit.plugin_api.conversation import Completion, ProviderError, Request
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.provider import Call, HttpCall, ProviderDefinition, Wire
from code_commit_workspace.redaction import Redactor

_FIRST_ERROR = 400  # of the HTTP statuses
_QUOTED = 8  # characters of a key in a row that no error may show
_LONGEST_TIMER = 7 * 24 * 3600.0  # the clock's own limit is lower than infinity


class HttpProvider:
    """A `Provider` made of a `Wire`: one try is one POST.

    Raises:
        NotReady: the address is none, or the key cannot stand in a header.
    """

    def __init__(self, definition: ProviderDefinition, connection: Endpoint, wire: Wire) -> None:
        _silence_libraries()
        self._name = definition.name
        self._wire = wire
        self._limits = connection
        self._address = checked_address(connection.base_url, definition.name)
        self._key = connection.key
        self._key_header = definition.key_header[0].lower()
        self._headers = _own_headers(definition, connection.key)
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[HttpConnection] = []
        self._busy: dict[HttpConnection, ResultQueue] = {}

    def complete(self, request: Request, call: Call) -> Completion:
        """Send `request` once and read the answer, before `call.deadline`.

        Raises:
            ProviderError: nothing came, or an error, or what cannot be understood.
        """
        target, headers, content = self._prepared(self._wire.encode(request))
        try:
            answer = self._exchange(target, headers, content, call.deadline)
        except ProviderError as error:
            raise self._located(error, {}) from None
        del content
        try:
            _refuse_redirect(answer)
            return self._wire.decode(answer.status, answer.headers, self._told(answer))
        except ProviderError as error:
            raise self._located(error, answer.headers) from None
        except Exception as error:  # a plugin's wire met an answer that it was not written for
            stumbled = f"its plugin could not read the answer (HTTP {answer.status}): {type(error).__name__}"
            raise self._located(ProviderError(stumbled, kind="invalid_response"), answer.headers) from error

    def close(self) -> None:
        """End the calls under way, from any thread, and let all connections go."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy.values())
        for connection in idle:
            connection.abort()
        for result_queue in busy:
            result_queue.put(None)

    def _prepared(self, call: HttpCall) -> tuple[httpx.URL, dict[str, str], Content]:
        if not call.path.startswith("/"):
            raise ValueError(f"provider {self._name}: the path of a call must begin with a slash")
        target = httpx.URL(str(self._address).rstrip("/") + call.path)
        if (target.scheme, target.host, target.port) != (self._address.scheme, self._address.host, self._address.port):
            raise ValueError(f"provider {self._name}: the path of a call leads to another host")
        headers = {name.lower(): value for name, value in call.headers.items()}
        if self._key_header in headers:
            raise ValueError(f"provider {self._name}: the key header is the host's to fill in")
        try:
            content = Content(call.body)
        except UnicodeEncodeError:
            raise ProviderError("the request holds text that is not Unicode", kind="rejected") from None
        return target, headers | self._headers, content

    def _exchange(self, target: httpx.URL, headers: dict[str, str], content: Content, deadline: float) -> Answer:
        result_queue: ResultQueue = queue.SimpleQueue()
        connection = self._take_connection(result_queue)
        seconds = max(0.0, min(deadline - time.monotonic(), _LONGEST_TIMER))
        answer = None
        try:
            threading.Thread(
                target=connection.post,
                args=(target, headers, content, self._limits, result_queue),
                name=f"code-commit {self._name}",
                daemon=True,
            ).start()
            answer = result_queue.get(timeout=seconds)
        except queue.Empty:
            raise ProviderError("no whole answer came before the time limit of the call", kind="network") from None
        finally:
            self._give_back(connection, reusable=isinstance(answer, Answer))
        if isinstance(answer, Answer):
            return answer
        if answer is None:
            raise _closed()
        if isinstance(answer, httpx.TransportError):
            raise transport_error(answer, self._limits) from None
        raise answer

    def _take_connection(self, result_queue: ResultQueue) -> HttpConnection:
        with self._lock:
            if self._closed:
                raise _closed()
            connection = self._idle.pop() if self._idle else self._new_connection()
            self._busy[connection] = result_queue
            return connection

    def _give_back(self, connection: HttpConnection, *, reusable: bool) -> None:
        with self._lock:
            del self._busy[connection]
            keep = reusable and not self._closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.abort()

    def _new_connection(self) -> HttpConnection:
        if self._ssl_context is None:
            self._ssl_context = trust(self._address)
        return HttpConnection(self._ssl_context, proxy_for(self._address))

    def _told(self, answer: Answer) -> bytes:
        """The body; of an error without the key, before anybody cuts it to where the key is no longer known as such."""
        if answer.status < _FIRST_ERROR or not self._key:
            return answer.body
        return Redactor([self._key]).data(answer.body)

    def _located(self, error: ProviderError, headers: Mapping[str, str]) -> ProviderError:
        """`error` with the name and address of the service, its `Retry-After`, and without the key."""
        where = self._address.host if self._address.port is None else f"{self._address.host}:{self._address.port}"
        words, raw = str(error), error.raw
        if self._key:
            words = _blotted(Redactor([self._key]).text(words), self._key)
            told = json.dumps(raw, ensure_ascii=False)
            if _blotted(told, self._key) != told:
                raw = None
        message = f"{self._name} at {where}: {words}"
        retry_after = retry_after_seconds(headers) if error.retry_after is None else error.retry_after
        return ProviderError(message, kind=error.kind, retry_after=retry_after, raw=raw)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """How long a service asks to wait: `Retry-After-Ms`, or `Retry-After` in seconds or as a date.

    What is neither, or negative, counts as not told. Names in `headers` are in lower case. A date is read against the
    service's own `Date`, so that a wrong clock here does no harm.
    """
    milliseconds = _duration(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after", "")
    seconds = _duration(told)
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(told).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        now = time.time()
    return max(0.0, until - now)


def _duration(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _blotted(text: str, key: str) -> str:
    """Return `text` with `***` for each part of `key` in it: services like to show both ends."""
    hidden = bytearray(len(text))
    for start in range(max(1, len(key) - _QUOTED + 1)):
        part = key[start : start + _QUOTED]
        found = text.find(part)
        while found >= 0:
            hidden[found : found + len(part)] = b"*" * len(part)
            found = text.find(part, found + 1)
    runs = groupby(zip(hidden, text, strict=True), key=itemgetter(0))
    return "".join("***" if is_hidden else "".join(letter for _, letter in run) for is_hidden, run in runs)


def _refuse_redirect(answer: Answer) -> None:
    if not 300 <= answer.status < 400:  # noqa: PLR2004 - the redirects
        return
    try:
        host = httpx.URL(answer.headers.get("location", "")).host
    except httpx.InvalidURL:
        host = ""
    raise ProviderError(
        f"HTTP {answer.status} redirects to {host[:255] or 'another path'}, which is not followed; "
        "set the base_url that is meant",
        kind="rejected",
    )


def _closed() -> ProviderError:
    return ProviderError("the call was ended", kind="rejected")


def _own_headers(definition: ProviderDefinition, key: str | None) -> dict[str, str]:
    headers = {
        "accept": "application/json",
        "accept-encoding": "gzip",
        "content-type": "application/json",
        "user-agent": f"code-commit/{__version__}",
    }
    if key is None:
        return headers
    if not key or not key.isascii() or not key.isprintable() or key != key.strip():
        raise NotReady(
            f"The key of provider {definition.name} cannot be sent: it is empty or not printable ASCII.",
            hint="Put the key on one line by itself, as the service shows it.",
        )
    name, template = definition.key_header
    return headers | {name.lower(): template.format(key=key)}


def _silence_libraries() -> None:
    """Keep httpx's and httpcore's own log lines, which may hold headers, from every handler."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
