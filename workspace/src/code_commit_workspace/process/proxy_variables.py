"""Environment variables that name a proxy. Their addresses may contain a password."""

from __future__ import annotations

import re

_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"})
# `user:password@`, with or without `http://` before it.
_USER = re.compile(r"(?:[^:/?#@]*://)?([^:/?#@]*):([^/?#]*)@")


def is_proxy(variable: str) -> bool:
    """Return whether programs read the address of a proxy from `variable`."""
    return variable.lower() in _VARIABLES


def without_password(address: str) -> str:
    """Return the address of a proxy without its user and password."""
    user = _USER.match(address)
    if user is None:
        return address
    return address[: user.start(1)] + address[user.end() :]
