"""HTTP for every provider: one POST and its reply, within limits. Only this package imports httpx.

Each POST runs in its own thread, so that its deadline, Ctrl-C and `close` end it at once: during
name resolution, a handshake or a slow reply. The key is sent in its header only: the host follows
no redirect, uses no cookie or netrc entry, sends plain HTTP and loopback through no proxy, and
shows the key in no error.
"""

from __future__ import annotations

from code_commit.imports import import_without

with import_without("httpx._main"):  # its command line: click, rich and pygments
    from code_commit.models.http.connection import Endpoint
    from code_commit.models.http.provider import HttpProvider

__all__ = ["Endpoint", "HttpProvider"]
