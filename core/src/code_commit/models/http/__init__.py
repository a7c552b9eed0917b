"""HTTP for every provider: one POST and its answer, within limits. The only package that imports httpx.

Each POST runs in a thread of its own, so that its deadline, Ctrl-C and `close` end it at once, wherever it hangs: in
name resolution, in a handshake, in a slow answer. The key goes into its header and nowhere else: the host follows no
redirect, uses no cookie or netrc entry, sends plain HTTP and loopback through no proxy, and shows the key in no error.
"""

from __future__ import annotations

from code_commit.imports import import_without

with import_without("httpx._main"):  # its command line: click, rich and pygments
    from code_commit.models.http.endpoint import Endpoint
    from code_commit.models.http.provider import HttpProvider, retry_after_seconds

__all__ = ["Endpoint", "HttpProvider", "retry_after_seconds"]
