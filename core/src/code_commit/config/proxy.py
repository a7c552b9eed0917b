"""Proxies that environment variables name: the one for an address, and their passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import unquote

_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"})
_PASSWORD = re.compile(r"(?:[^:/?#@]*://)?[^:/?#@]*:([^/?#]*)@")  # with or without `http://` before
_SHORTEST = 8  # like a key: replacing a shorter text would damage other texts


def https_proxy(host: str) -> str | None:
    """Return the address of the environment's proxy for https to `host`, or None.

    This machine needs none.
    """
    if is_this_machine(host):
        return None
    from urllib import request  # slow to import

    proxies = request.getproxies_environment()
    proxy = proxies.get("https") or proxies.get("all")
    is_bypassed = request.proxy_bypass_environment  # type: ignore[attr-defined] # missing in typeshed
    if not proxy or is_bypassed(host, proxies):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    return proxy


def is_this_machine(host: str) -> bool:
    """Return whether `host` is the name or an address of this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def proxy_passwords(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the passwords of proxies, as written and as sent, except short ones."""
    for name, address in environ.items():
        match = _PASSWORD.match(address)
        if match is None or name.lower() not in _VARIABLES:
            continue
        for password in {match[1], unquote(match[1])}:
            if len(password) >= _SHORTEST and password.isascii() and password.isprintable():
                yield password
