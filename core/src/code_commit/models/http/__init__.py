"""HTTP for every provider: one POST and its answer, kept within bounds. The only module that imports httpx.

A try takes place in a thread of its own, so that its deadline, Ctrl-C and `close` end it at once, wherever it hangs: in
name resolution, in a handshake, in an answer that trickles. The key goes into its header and nowhere else: no redirect
is followed, no cookie or netrc entry is used, plain HTTP and loopback never go through a proxy, and no error holds it.
"""

from __future__ import annotations

from code_commit.imports import import_without

with import_without("httpx._main"):  # its command line: click, rich and pygments
    from code_commit.models.http.endpoint import Endpoint
    from code_commit.models.http.provider import HttpProvider, retry_after_seconds

__all__ = ["Endpoint", "HttpProvider", "retry_after_seconds"]
