"""Environment variables that name a proxy. Their addresses may contain a password."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"})
# `user:password@`, with or without `http://` before it.
_USER = re.compile(r"(?:[^:/?#@]*://)?([^:/?#@]*):([^/?#]*)@")
_SHORTEST = 8  # like a key: replacing a shorter text would damage other texts


def proxy_passwords(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the passwords of proxies, as written and as sent, except short ones."""
    for name in environ:
        if is_proxy(name) and (found := _USER.match(environ[name])):
            for password in {found[2], unquote(found[2])}:
                if len(password) >= _SHORTEST and password.isascii() and password.isprintable():
                    yield password


def is_proxy(variable: str) -> bool:
    """Return whether programs read the address of a proxy from `variable`."""
    return variable.lower() in _VARIABLES


def without_password(address: str) -> str:
    """Return the address of a proxy without its user and password."""
    found = _USER.match(address)
    return address[: found.start(1)] + address[found.end() :] if found else address
