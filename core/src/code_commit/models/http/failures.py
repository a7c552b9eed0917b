"""Describe what went wrong at a service, without the key. It is imported only then."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from itertools import groupby
from operator import itemgetter

import httpx

from code_commit.models.http.connection import CONNECT_SECONDS, WRITE_SECONDS, Endpoint, HttpReply
from code_commit.plugin_api.conversation import ProviderError
from code_commit_workspace import Redactor

_ENDED_EARLY = re.compile("disconnected|closed connection")
_QUOTED = 8  # characters of a key in a row that no error may show


def located(
    error: ProviderError, service: str, address: httpx.URL, key: str | None, headers: Mapping[str, str]
) -> ProviderError:
    """Return `error` with the name and address of the service and its `Retry-After`, without the key."""
    where = address.host if address.port is None else f"{address.host}:{address.port}"
    words, raw = str(error), error.raw
    if key:
        words = _hide_parts(Redactor([key]).text(words), key)
        text = json.dumps(raw, ensure_ascii=False)
        if _hide_parts(text, key) != text:
            raw = None
    retry_after = retry_after_seconds(headers) if error.retry_after is None else error.retry_after
    return ProviderError(f"{service} at {where}: {words}", kind=error.kind, retry_after=retry_after, raw=raw)


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long a service asks to wait, by `Retry-After-Ms`, or `Retry-After` in seconds or as a date.

    Anything else, or a negative number, is None. Names in `headers` are in lower case. A date is compared with the
    service's own `Date`, so that a wrong clock on this machine does no harm.
    """
    milliseconds = _duration(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _duration(text)
    if seconds is not None:
        return seconds
    try:
        until = parsedate_to_datetime(text).timestamp()
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


def _hide_parts(text: str, key: str) -> str:
    """Return `text` with `***` for each part of `key` in it: services often show both ends of a key."""
    hidden = bytearray(len(text))
    for start in range(max(1, len(key) - _QUOTED + 1)):
        part = key[start : start + _QUOTED]
        found = text.find(part)
        while found >= 0:
            hidden[found : found + len(part)] = b"*" * len(part)
            found = text.find(part, found + 1)
    runs = groupby(zip(hidden, text, strict=True), key=itemgetter(0))
    return "".join("***" if is_hidden else "".join(letter for _, letter in run) for is_hidden, run in runs)


def redirect_error(reply: HttpReply) -> ProviderError:
    """Describe a redirect. It is not followed: the key would go to another address."""
    try:
        host = httpx.URL(reply.headers.get("location", "")).host
    except httpx.InvalidURL:
        host = ""
    return ProviderError(
        f"HTTP {reply.status} redirects to {host[:255] or 'another path'}, which is not followed; "
        "set the base_url that is meant",
        kind="rejected",
    )


def transport_error(error: httpx.TransportError, endpoint: Endpoint) -> ProviderError:
    """Describe an error. Use httpx's message only where it cannot quote the request."""
    if isinstance(error, httpx.ConnectError):
        return _connect_error(str(error))
    if isinstance(error, httpx.TimeoutException):
        waits = {
            httpx.ConnectTimeout: f"no connection within {CONNECT_SECONDS:g} s; check the address and the network",
            httpx.WriteTimeout: f"the service took in nothing for {WRITE_SECONDS:g} s",
        }
        return ProviderError(waits.get(type(error), f"no answer for {endpoint.read_timeout:g} s"), kind="network")
    if isinstance(error, httpx.ProxyError):
        message = "the proxy did not let the call through; check HTTPS_PROXY and NO_PROXY"
        return ProviderError(message, kind="rejected")
    if isinstance(error, httpx.LocalProtocolError):
        message = "the request cannot be put into HTTP; look at the headers that the provider's plugin adds"
        return ProviderError(message, kind="rejected")
    if isinstance(error, httpx.RemoteProtocolError) and not _ENDED_EARLY.search(str(error)):
        message = "the answer is not HTTP; check that the address is that of the service"
        return ProviderError(message, kind="invalid_response")
    return ProviderError(f"the connection ended before the answer did ({type(error).__name__})", kind="network")


def _connect_error(words: str) -> ProviderError:
    if "CERTIFICATE_VERIFY_FAILED" in words:
        message = "its certificate is not trusted; check the address, or name your authority in SSL_CERT_FILE"
        return ProviderError(message, kind="rejected")
    if "[SSL" in words and "EOF" not in words:
        message = f"no TLS connection ({words}); check whether the address should begin with http://"
        return ProviderError(message, kind="rejected")
    return ProviderError(f"cannot connect ({words}); check the address and the network", kind="network")
