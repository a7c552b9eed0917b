"""The endpoint of a provider: address, certificates, proxy."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib import request as urllib_request

import httpx

from code_commit.plugin_api.errors import NotReady


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a provider, its key, and the limits of an answer.

    `read_timeout` is the longest silence in seconds; `size_cap` bounds an answer in bytes, after decompression.
    """

    base_url: str
    key: str | None = field(default=None, repr=False)
    read_timeout: float = 900.0
    size_cap: int = 64 * 1024 * 1024


def checked_address(base_url: str, provider: str) -> httpx.URL:
    hint = "Set base_url to something like https://host/path, without a user name, a query or a fragment."
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError):
        raise NotReady(f"The address of provider {provider} is not a URL.", hint=hint) from None
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query or url.fragment:
        raise NotReady(f"The address of provider {provider} is not one that can be called.", hint=hint)
    return url


def trust(address: httpx.URL) -> ssl.SSLContext:
    if address.scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without authorities: loading them takes 20 ms
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise NotReady(
            f"The certificates named by SSL_CERT_FILE or SSL_CERT_DIR cannot be loaded: {error.strerror}.",
            hint="Correct the variable or unset it.",
        ) from None


def proxy_for(address: httpx.URL) -> httpx.Proxy | None:
    """Return the proxy of the environment. Only HTTPS uses it: through a tunnel it sees no headers."""
    if address.scheme != "https" or _is_loopback(address.host):
        return None
    proxies = urllib_request.getproxies_environment()
    proxy = proxies.get("https") or proxies.get("all")
    bypassed = urllib_request.proxy_bypass_environment  # type: ignore[attr-defined] # typeshed does not know it
    if not proxy or bypassed(address.host, proxies):
        return None
    try:
        return httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}")
    except (httpx.InvalidURL, ValueError):
        raise NotReady(
            "The proxy in HTTPS_PROXY or ALL_PROXY is not an http:// or https:// address.",
            hint="Correct the variable, or except the service's host in NO_PROXY.",
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
