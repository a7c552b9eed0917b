"""Describe what went wrong at a service, without the key. It is imported only then."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import httpx

from code_commit.models.http.connection import CONNECT_SECONDS, WRITE_SECONDS, Endpoint, HttpReply
from code_commit.models.http.key_parts import hide_parts
from code_commit.plugin_api.conversation import ProviderError, ProviderErrorKind
from code_commit_workspace import Redactor
from code_commit_workspace.words import describe

_ENDED_EARLY = re.compile("disconnected|closed connection")
# The values of `x-should-retry`, a header of OpenAI and Anthropic.
_SHOULD_RETRY: Mapping[str, bool] = {"true": True, "false": False}
_REDIRECTS = range(300, 400)  # HTTP statuses
_LONGEST_WAIT = 1e9  # seconds, or milliseconds; no run waits so long
_LONGEST_BODY = 1 << 20  # bytes kept for the run folder


def provider_error(
    error: Exception,
    service: str,
    endpoint: Endpoint,
    reply: HttpReply | None,
) -> ProviderError:
    """Return `error` with the name and address of the service, without the key.

    The service's `Retry-After` and its reply are added. Only a bug of the wire becomes the cause of
    the result: other exceptions may quote the key.

    Raises:
        Exception: `error` itself, if it is a bug elsewhere.
    """
    cause: Exception | None = None
    match error:
        case _ if reply is not None and reply.status in _REDIRECTS:
            described = redirect_error(reply, endpoint.redactor)
        case ProviderError():
            described = error
        case httpx.TransportError():
            described = _transport_error(error, endpoint)
        case _ if reply is not None:
            message = (
                f"its plugin could not read the reply (HTTP {reply.status}): {describe(error)}"
            )
            described = ProviderError(message, kind="invalid_response")
            cause = error
        case _:
            raise error
    words = str(described)
    body = described.body
    retry_after = described.retry_after
    if reply is not None:
        body = endpoint.redactor.data(reply.body)[:_LONGEST_BODY].decode("utf-8", "replace")
        if retry_after is None:
            retry_after = retry_after_seconds(reply.headers)
    if described.kind == "auth":  # services quote the key
        body = ""
        if endpoint.key:
            words += f"; the key is from {endpoint.key_source}"
    located = ProviderError(
        f"{service} at {_host_of(endpoint)}: {_without_key(words, endpoint)}",
        kind=described.kind,
        retry_after=retry_after,
        body=_without_key(body, endpoint),
    )
    if reply is not None and described.kind != "network":
        should_retry = reply.headers.get("x-should-retry", "").strip().lower()
        located.should_retry = _SHOULD_RETRY.get(should_retry)
    located.__cause__ = cause
    return located


def _host_of(endpoint: Endpoint) -> str:
    address = httpx.URL(endpoint.base_url)
    if address.port is None:
        return address.host
    return f"{address.host}:{address.port}"


def _without_key(text: str, endpoint: Endpoint) -> str:
    return hide_parts(endpoint.redactor.text(text), endpoint.key)


def redirect_error(reply: HttpReply, redactor: Redactor) -> ProviderError:
    """Describe a redirect. It is not followed: the key would go to another address."""
    try:
        host = httpx.URL(redactor.text(reply.headers.get("location", ""))).host
    except httpx.InvalidURL:
        host = ""
    target = host[:255] or "another path"
    return ProviderError(
        f"HTTP {reply.status} redirects to {target}, which is not followed; "
        "set base_url to the right address",
        kind="rejected",
    )


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a service asks to wait, or None.

    It says so by `Retry-After-Ms`, or by `Retry-After` in seconds or as a date. Anything else, or a
    negative number, is None. Names in `headers` are in lower case. A date is
    compared with the service's own `Date`, so that a wrong clock on this machine does no harm.
    """
    milliseconds = _duration(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _duration(text)
    if seconds is not None:
        return seconds
    end = _timestamp(text)
    if end is None:
        return None
    now = _timestamp(headers.get("date", ""))
    if now is None:
        now = time.time()
    return max(0.0, end - now)


def _duration(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if "_" in text or not 0 <= value < math.inf:
        return None
    return min(value, _LONGEST_WAIT)


def _timestamp(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _transport_error(error: httpx.TransportError, endpoint: Endpoint) -> ProviderError:
    """Describe an error. Use httpx's message only where it cannot quote the request."""
    kind: ProviderErrorKind = "network"
    match error:
        case httpx.ConnectError():
            message, kind = _connect_error(str(error))
        case httpx.ConnectTimeout():
            message = f"no connection within {CONNECT_SECONDS:g} s"
        case httpx.WriteTimeout():
            message = f"the service accepted no data for {WRITE_SECONDS:g} s"
        case httpx.TimeoutException():
            message = f"no reply for {endpoint.read_timeout:g} s"
        case httpx.ProxyError():
            message = "the proxy refused the call; check HTTPS_PROXY and NO_PROXY"
            kind = "rejected"
        case httpx.LocalProtocolError():
            message = (
                "the request is not valid HTTP; check the headers that the provider's plugin adds"
            )
            kind = "rejected"
        case httpx.RemoteProtocolError() if not _ENDED_EARLY.search(str(error)):
            message = "the reply is not HTTP"
            kind = "invalid_response"
        case _:
            message = (
                f"the connection was lost before the end of the reply ({type(error).__name__})"
            )
    return ProviderError(message, kind=kind)


def _connect_error(words: str) -> tuple[str, ProviderErrorKind]:
    if "CERTIFICATE_VERIFY_FAILED" in words:
        message = "its certificate is not trusted; check the address, or set SSL_CERT_FILE"
        return f"{message} to your authority", "rejected"
    if "[SSL" in words and "EOF" not in words:
        message = f"no TLS connection ({words}); if the server has no TLS, use an http:// address"
        return message, "rejected"
    return f"cannot connect ({words})", "network"
