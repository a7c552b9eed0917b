"""The access tokens of a service that takes no key but hands out tokens for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import NoneType
from typing import Any

import httpx

from code_commit.config.proxy import is_this_machine
from code_commit.models.http.connection import Endpoint, HttpReply
from code_commit.models.http.pool import ConnectionPool
from code_commit.models.http.requests import HEADERS, http_request
from code_commit.models.http.streamed_reply import aborted, out_of_time
from code_commit.plugin_api.conversation import ProviderError
from code_commit.plugin_api.provider import AccessToken, HttpCall
from code_commit.plugins.code import checked_result
from code_commit_workspace import Scope

_PLACE = "{key}"  # of the key in the call of a wire
_REFUSED = frozenset({400, 401, 403})  # HTTP statuses; OAuth refuses with 400
_EARLY = 60.0  # seconds before its end at which a token is renewed, but at most
_EARLY_SHARE = 0.2  # of its time
_LOOK_SECONDS = 0.02  # between two looks at a renewal in another thread


class AccessTokens:
    """Asks for a token when it is needed, and renews it. All calls share it, in any thread.

    What asks ends with `scope`.
    """

    def __init__(self, wire: Any, endpoint: Endpoint, name: str, key: str, scope: Scope) -> None:
        self._wire = wire
        self._endpoint = endpoint
        self._name = name
        self._key = key
        self._token = ""
        self._renew_at = 0.0  # on the clock of `time.monotonic()`
        self._lock = threading.Lock()
        self._pool: ConnectionPool | None = None
        self._scope = scope

    def current(self, deadline: float, scope: Scope, *, refused: str = "") -> str:
        """Return a token that is valid, and not the one that the service has `refused`.

        Raises:
            ProviderError: there is none; of the kind "auth" if the service refused the key.
        """
        with self._alone(deadline, scope):
            if self._token in {"", refused} or time.monotonic() >= self._renew_at:
                self._renew(deadline, scope)
            return self._token

    @contextmanager
    def _alone(self, deadline: float, scope: Scope) -> Iterator[None]:
        """Wait until no other thread renews the token, and keep others out."""
        with scope.child() as wait:
            while not self._lock.acquire(timeout=_LOOK_SECONDS):
                if wait.is_over or self._scope.is_over:
                    raise aborted()
                if time.monotonic() >= deadline:
                    raise out_of_time()
        try:
            yield
        finally:
            self._lock.release()

    def _renew(self, deadline: float, scope: Scope) -> None:
        call = checked_result(self._wire.encode_token(), HttpCall)
        call = replace(
            call,
            body=_with_key(call.body, self._key),
            headers=_with_key(call.headers, self._key),
        )
        url = self._url_of(call)
        endpoint = replace(self._endpoint, base_url=url)
        if self._pool is None:
            self._pool = ConnectionPool(httpx.URL(url), endpoint, self._name)
            self._scope.on_end(self._pool.scope.end)
        request = http_request(call, url, HEADERS)
        asked_at = time.monotonic()
        with self._pool.posted(request, deadline, scope) as post:
            post.send()
        token = self._decoded(post.result, endpoint)
        self._token = token.value
        self._renew_at = float("inf")
        if token.seconds is not None:
            early = min(_EARLY, token.seconds * _EARLY_SHARE)
            self._renew_at = asked_at + token.seconds - early

    def _url_of(self, call: HttpCall) -> str:
        """Return the address of the token endpoint: below that of the service, or one of its own.

        Raises:
            ProviderError: the key would be sent unencrypted to another machine.
        """
        if call.path.startswith("/"):
            return self._endpoint.base_url.rstrip("/") + call.path
        url = httpx.URL(call.path)
        if url.scheme == "https" or (url.scheme == "http" and is_this_machine(url.host)):
            return call.path
        raise ProviderError(
            f"{self._name}: the token endpoint must be a path or an https URL", kind="rejected"
        )

    def _decoded(self, result: Any, endpoint: Endpoint) -> AccessToken:
        """Return the token in a reply, and hide it.

        Nothing of a reply with a token stands in an error.
        """
        from code_commit.models.http.failures import provider_error

        if not isinstance(result, HttpReply):
            raise provider_error(result, self._name, endpoint, None)
        has_token = result.status < 300  # noqa: PLR2004 - the statuses of success
        clean = result
        if not has_token:  # a service may hand out the same token again, which is hidden already
            clean = replace(result, body=endpoint.redactor.document(result.body))
        try:
            token = checked_result(
                self._wire.decode_token(clean.status, clean.headers, clean.body),
                AccessToken,
                value=str,
                seconds=(int, float, NoneType),
            )
            endpoint.redactor.add(token.value)
        except Exception as error:  # noqa: BLE001 - described below
            failure = error
        else:
            return token
        if has_token:
            failure = ProviderError(
                f"its plugin could not read the reply of the token endpoint "
                f"({type(failure).__name__})",
                kind="invalid_response",
            )
            clean = replace(clean, body=b"")
        elif clean.status in _REFUSED and getattr(failure, "kind", "") != "auth":
            # Without the words of the service, which may quote the key.
            message = f"the token endpoint refused the key (HTTP {clean.status})"
            failure = ProviderError(message, kind="auth")
        raise provider_error(failure, self._name, endpoint, clean)


def _with_key(value: Any, key: str) -> Any:
    """Return JSON with the key in its place."""
    if isinstance(value, str):
        return value.replace(_PLACE, key)
    if isinstance(value, Mapping):
        return {name: _with_key(member, key) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_with_key(element, key) for element in value]
    return value
