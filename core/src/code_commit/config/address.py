"""The addresses of providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady


@dataclass(frozen=True, slots=True)
class Address:
    """A base URL without a final slash, its source, and whether it is the service's own."""

    url: str
    source: str
    own: bool


def address_of(
    definition: ProviderDefinition, config_name: str, table: Mapping[str, Any], environ: Mapping[str, str]
) -> Address:
    """Return the address of the config `config_name` of a provider.

    `table` is the config's table (`Settings.connection`). Its `base_url` comes first; then, for the config `default`
    only, the provider's usual variable in `environ`; then the service's own address. `allow_http = true` in the table
    allows plain http to other machines.

    Raises:
        NotReady: the address is no http or https URL, holds credentials, a query or a fragment, or would send the key
            unencrypted.
    """
    where = f"[providers.{definition.name}.{config_name}]"
    variable = definition.base_url_variable
    if "base_url" in table:
        url, source = table["base_url"], f"base_url of {where}"
    elif config_name == "default" and variable and environ.get(variable):
        url, source = environ[variable].rstrip("/") + definition.base_url_suffix, f"variable {variable}"
    else:
        url, source = definition.base_url, f"plugin of {definition.name}"
    parts = _split(url, source)
    if parts.scheme == "http" and not is_this_machine(parts.hostname or "") and table.get("allow_http") is not True:
        raise NotReady(
            f"the address in {source} is plain http to another machine, which would send the key in the clear",
            hint=f"use https, or set allow_http = true in {where} for a network that you trust",
        )
    return Address(url.rstrip("/"), source, own=_service(parts) == _service(urlsplit(definition.base_url)))


def _split(url: object, source: str) -> SplitResult:
    """Parse a URL. Errors name its source only, as the URL may hold credentials."""
    if not isinstance(url, str):
        raise NotReady(f"the address in {source} is not a text", hint='write it like "https://host/v1"')
    if not url.isascii() or any(not "!" <= letter <= "~" or letter == "\\" for letter in url):
        raise NotReady(f"the address in {source} holds a blank or another character that no URL has")
    try:
        parts = urlsplit(url)
        well_formed = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        well_formed = False
    if not well_formed:
        raise NotReady(f"the address in {source} is no http or https URL", hint='write it like "https://host/v1"')
    if "@" in parts.netloc:
        raise NotReady(f"the address in {source} holds credentials", hint="a key is sent in a header: see api_key_file")
    if "?" in url or "#" in url:
        raise NotReady(f"the address in {source} holds a query or a fragment", hint="leave out what follows ? or #")
    return parts


def is_this_machine(host: str) -> bool:
    """Return whether `host` is this machine by its name or address."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _service(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
