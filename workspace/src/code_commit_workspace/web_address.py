"""Addresses of services on the web."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from code_commit_workspace.errors import NotReady


def parse_address(url: object, source: str) -> SplitResult:
    """Parse the address of a service. Errors name its source only, as the address may hold credentials.

    Raises:
        NotReady: it is not an http or https URL, or has credentials, a query or a fragment.
    """
    example = 'write it like "https://host/v1"'
    if not isinstance(url, str):
        raise NotReady(f"the address in {source} is not a string", hint=example)
    if not re.fullmatch(r"[!-\[\]-~]*", url):
        raise NotReady(f"the address in {source} contains a character that is not allowed in a URL")
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_http = False
    if not is_http:
        raise NotReady(f"the address in {source} is not an http or https URL", hint=example)
    if "@" in parts.netloc:
        raise NotReady(f"the address in {source} contains credentials", hint="set the key with api_key_file")
    if "?" in url or "#" in url:
        raise NotReady(f"the address in {source} contains a query or a fragment", hint="end the address before ? or #")
    return parts


def is_this_machine(host: str) -> bool:
    """Return whether `host` is this machine by its name or address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_origin(one: str, other: str) -> bool:
    """Return whether two URLs lead to the same service."""
    return _origin(urlsplit(one)) == _origin(urlsplit(other))


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
