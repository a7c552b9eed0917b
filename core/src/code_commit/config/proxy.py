"""The proxy for an address, from environment variables. This machine needs none."""

from __future__ import annotations

from ipaddress import ip_address


def https_proxy(host: str) -> str | None:
    """Return the address of the environment's proxy for https to `host`, or None.

    This machine needs none.
    """
    if is_this_machine(host):
        return None
    from urllib import request  # slow to import

    proxies = request.getproxies_environment()
    proxy = proxies.get("https") or proxies.get("all")
    bypassed = request.proxy_bypass_environment  # type: ignore[attr-defined] # missing in typeshed
    if not proxy or bypassed(host, proxies):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_this_machine(host: str) -> bool:
    """Return whether `host` is the name or an address of this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
