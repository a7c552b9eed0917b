"""The addresses of providers, which keys are sent to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from code_commit.config.proxy import is_this_machine
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady


@dataclass(frozen=True, slots=True)
class Address:
    """A base URL without a final slash, and whether it is the service's own."""

    url: str
    own: bool


def address_of(
    definition: ProviderDefinition,
    config_name: str,
    table: Mapping[str, Any],
    environ: Mapping[str, str],
) -> Address:
    """Return the address of the config `config_name` of a provider.

    `table` is the config's table (`Settings.connection`). Its `base_url` comes first; then, for the
    config `default` only, the provider's usual variable in `environ`; then the service's own
    address. `allow_http = true` in the table allows plain http to other machines.

    Raises:
        NotReady: the address is not an http or https URL, contains credentials, a query or a
            fragment, or would send the key unencrypted.
    """
    section = f"[providers.{definition.name}.{config_name}]"
    variable = definition.base_url_variable
    if "base_url" in table:
        url = table["base_url"]
        source = f"base_url of {section}"
    elif config_name == "default" and variable and environ.get(variable):
        url = environ[variable].rstrip("/") + definition.base_url_suffix
        source = f"variable {variable}"
    else:
        url = definition.base_url
        source = f"plugin of {definition.name}"
    parts = _parsed(url, source)
    is_plain = parts.scheme == "http" and not is_this_machine(parts.hostname or "")
    if is_plain and table.get("allow_http") is not True:
        raise NotReady(
            f"the address in {source} is plain http to another machine, "
            "which would send the key unencrypted",
            hint=f"use https, or set allow_http = true in {section} for a network that you trust",
        )
    is_own = _origin(parts) == _origin(urlsplit(definition.base_url))
    return Address(url.rstrip("/"), own=is_own)


def _parsed(url: object, source: str) -> SplitResult:
    """Parse an address. Errors name its source only, because it may contain credentials.

    pydantic and httpx would accept `https:///v1`: pydantic takes `v1` for the host, httpx none.
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
        raise NotReady(
            f"the address in {source} contains credentials", hint="set the key with api_key_file"
        )
    if "?" in url or "#" in url:
        raise NotReady(
            f"the address in {source} contains a query or a fragment",
            hint="end the address before ? or #",
        )
    return parts


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    usual_port = 443 if parts.scheme == "https" else 80
    return parts.scheme, parts.hostname, parts.port or usual_port
