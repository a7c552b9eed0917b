"""An `HttpCall` of a plugin as a request that can be sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlencode

import httpx

from code_commit import __version__
from code_commit.plugin_api.provider import HttpCall

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip",
    "content-type": "application/json",
    "user-agent": f"code-commit/{__version__}",
}
_PIECE = 1 << 20  # characters or bytes of a request, sent together


def http_request(call: HttpCall, url: str, headers: Mapping[str, str]) -> httpx.Request:
    """Return the request of `call` to `url`; the host's `headers` beat those of the call."""
    texts: tuple[str, ...] = ()
    if call.method == "POST":
        texts = (urlencode(call.body),) if call.form else tuple(_JSON.iterencode(call.body))
    own = {name.lower(): value for name, value in call.headers.items()}
    own |= headers
    if call.form:
        own["content-type"] = "application/x-www-form-urlencoded"
    own["content-length"] = str(sum(map(len, _encoded(texts))))
    return httpx.Request(call.method, url, headers=own, content=_encoded(texts))


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield `texts` in UTF-8, in pieces because a prompt may be large.

    A lone surrogate becomes `?`: a model may have written it in an earlier turn, and services
    refuse it.
    """
    piece = bytearray()
    for text in texts:
        for start in range(0, len(text), _PIECE):
            piece += text[start : start + _PIECE].encode("utf-8", "replace")
            if len(piece) >= _PIECE:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece)
