"""API keys, and the addresses that they are sent to.

`Settings` holds no key. The store reads the sources again, after it checked the project's
`.gitignore`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from code_commit.config.key_text import parse_key
from code_commit.config.proxy import is_this_machine, proxy_passwords
from code_commit.config.sources import (
    KEY_FIELDS,
    PROJECT_FILE,
    VARIABLE,
    Source,
    sources,
    user_file,
)
from code_commit.config.user_files import read_user_file
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady
from code_commit_workspace import (
    ProjectTree,
    read_in_project,
    replaceable_places,
    require_gitignore_line,
    require_no_link_out,
)

_LIMIT = 16 * 1024  # bytes of a key file
_KEY_FILE = "-key.txt"


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key and its source. Its `repr` shows the source only."""

    value: str = field(repr=False)
    source: str


class KeyStore:
    """Finds keys below `root`, in the user's file and in `environ`, and redacts each with `redact`.

    Raises:
        NotReady: the project's `.gitignore` does not keep `agent-config` out of git. No key is read
            then.
    """

    def __init__(
        self, root: Path, redact: Callable[[str], None], environ: Mapping[str, str]
    ) -> None:
        require_gitignore_line(root)
        self._root = root
        self._redact_key = redact
        self._environ = environ

    def key_for(
        self, definition: ProviderDefinition, config_name: str, table: Mapping[str, Any]
    ) -> FoundKey | None:
        """Return the key of a provider's config, or None if there is none and the address is not
        the service's own.

        `table` is the config's table (`Settings.connection`), which sets the address. The config's
        own `api_key` or `api_key_file` comes first; then, for the config `default` only,
        `agent-config/<provider>-key.txt` and the provider's usual variable. A config with another
        address never gets the service's key by accident.

        Raises:
            NotReady: a key cannot be read or is invalid, or the service's own address needs one.
        """
        if found := self._find(definition, config_name):
            self._redact_key(found.value)
            return found
        address = address_of(definition, config_name, table, self._environ)
        if address.own and definition.key_variable is not None:
            raise self._missing(definition, config_name, address.url)
        return None

    def secret(self, variable: str) -> str | None:
        """Return the secret in an environment variable, or None where it is unset or empty.

        Raises:
            NotReady: the value cannot be redacted.
        """
        found = self._variable(variable)
        if found:
            self._redact_key(found.value)
        return found.value if found else None

    def redact_all(self, variables: Iterable[str]) -> None:
        """Redact every configured key, the passwords of proxies, and the values of `variables`;
        skip invalid keys.

        `variables` are the names of environment variables (`Registry.secret_variables`).

        Raises:
            NotReady: a configuration is broken. Keys in other places are redacted anyway.
        """
        for password in proxy_passwords(self._environ):
            self._redact_key(password)
        for name in self._key_files():
            self._redact(self._key_file, name)
        for variable in variables:
            self._redact(self._variable, variable)
        for source, *config, table in self._configs_with_keys:
            for name in KEY_FIELDS & table.keys():
                self._redact(self._own_key, source, (*config, name), table[name])

    def variables_with_keys(self) -> frozenset[str]:
        """Return the environment variables that set `api_key` or `api_key_file` of a named config."""
        return frozenset(
            source.label.removeprefix(VARIABLE)
            for source, *_ in self._configs_with_keys
            if source.label.startswith(VARIABLE)
        )

    def files_elsewhere(self) -> tuple[Path, ...]:
        """Return what may hold keys outside `agent-config`.

        These are the user's file, which may be a link, its folder, and each `api_key_file`.
        """
        named = [
            path
            for source in sources(self._root, self._environ)
            for path in named_key_files(source)
        ]
        return (user_file().parent, user_file(), *named)

    @cached_property
    def _configs_with_keys(self) -> list[tuple[Source, str, str, Mapping[str, Any]]]:
        return [
            (source, provider, config, table)
            for source in sources(self._root, self._environ)
            for provider, config, table in source.provider_configs()
            if KEY_FIELDS & table.keys()
        ]

    def _redact(self, read: Callable[..., FoundKey | None], *arguments: object) -> None:
        with suppress(NotReady):
            if found := read(*arguments):
                self._redact_key(found.value)

    def _find(self, definition: ProviderDefinition, config_name: str) -> FoundKey | None:
        """Return the first key that a source holds, the strongest source first."""
        for source, provider, config, table in self._configs_with_keys:
            if (provider, config) == (definition.name, config_name):
                return self._configured(source, provider, config, table)
        if config_name != "default":
            return None
        found = self._key_file(f"{definition.name}{_KEY_FILE}")
        return found or (
            self._variable(definition.key_variable) if definition.key_variable else None
        )

    def _configured(
        self, source: Source, provider: str, config: str, table: Mapping[str, Any]
    ) -> FoundKey:
        """Return the key that a config's own table sets."""
        names = sorted(KEY_FIELDS & table.keys())
        if len(names) > 1:
            where = f"[providers.{provider}.{config}] in {source.label}"
            raise NotReady(f"{where} sets both {' and '.join(names)}", hint="remove one of them")
        return self._own_key(source, (provider, config, names[0]), table[names[0]])

    def _own_key(self, source: Source, name: tuple[str, str, str], value: object) -> FoundKey:
        """Return the key from the setting `name`, an `api_key` or an `api_key_file`."""
        where = f"{source.label} [providers.{name[0]}.{name[1]}] {name[2]}"
        if not isinstance(value, str):
            raise NotReady(f"{where} is not a string")
        if name[2] == "api_key":
            return FoundKey(parse_key(value, where), where)
        path = self._checked_key_path(source.folder, value, where)
        content = read_user_file(path, f"{path} ({where})", limit=_LIMIT)
        if content is None:
            raise NotReady(
                f"{where}: there is no file {path}", hint="write the key to it, on one line"
            )
        return FoundKey(_key_in(content, str(path)), f"{path} ({where})")

    def _checked_key_path(self, folder: Path, value: str, where: str) -> Path:
        """Return the path of a key file. Refuse a path where models or commits can contain it."""
        try:
            path = folder / Path(value).expanduser()
            path.resolve()
        except (RuntimeError, OSError, ValueError):
            raise NotReady(f"{where} is not a path that can be resolved") from None
        root = self._root.resolve()
        # Every place on the way: a link that leads out again could be replaced.
        if not all(
            place.is_relative_to(root / "agent-config") for place in replaceable_places(path, root)
        ):
            raise NotReady(
                f"{where}: {path} is in the project, where git and models can see it",
                hint=f"move the file to {root / 'agent-config'}, or out of the project",
            )
        require_no_link_out(self._root, path, f"{where}: {path}")
        return path

    def _key_file(self, name: str) -> FoundKey | None:
        path = f"agent-config/{name}"
        content = read_in_project(self._root, path, limit=_LIMIT)
        return None if content is None else FoundKey(_key_in(content, path), path)

    def _key_files(self) -> list[str]:
        """Return every key file by its name, also of providers that are not installed."""
        with (
            suppress(OSError),
            ProjectTree(self._root) as tree,
            tree.parent("agent-config/x") as (folder, _),
        ):
            return [name for name in os.listdir(folder) if name.endswith(_KEY_FILE)]  # noqa: PTH208 - a descriptor
        return []

    def _variable(self, name: str) -> FoundKey | None:
        """Return the key in a variable.

        An empty one counts as not set: CI sets that for a missing secret.
        """
        value = self._environ.get(name)
        return FoundKey(parse_key(value, f"variable {name}"), f"variable {name}") if value else None

    def _missing(self, definition: ProviderDefinition, config_name: str, address: str) -> NotReady:
        config = f"[providers.{definition.name}.{config_name}]"
        key_file, variable = f"{definition.name}{_KEY_FILE}", definition.key_variable
        in_file = f"in {self._root / PROJECT_FILE} or {user_file()}"
        if config_name == "default":
            empty = " (it is empty now)" if variable in self._environ else ""
            hint = (
                f"write it to {self._root / 'agent-config' / key_file}, "
                f"or set the variable {variable}{empty}, or set api_key in {config} {in_file}"
            )
        else:
            hint = f'set api_key, or api_key_file = "{key_file}", in {config} {in_file}'
        check = "; `code-commit doctor` checks it"
        return NotReady(
            f"no key for {definition.name}.{config_name} at {address}", hint=hint + check
        )


def named_key_files(source: Source) -> Iterator[Path]:
    """Yield the path of each `api_key_file` in a source, existing or not."""
    for _, _, table in source.provider_configs():
        if isinstance(table.get("api_key_file"), str):
            yield source.folder / os.path.expanduser(table["api_key_file"])  # noqa: PTH111 - leaves unknown users alone


def _key_in(content: bytes, where: str) -> str:
    # One character per byte, so that positions are those of bytes.
    return parse_key(content.decode("latin-1"), where)


# --- addresses -------------------------------------------------------------------------------------------------------


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
    where = f"[providers.{definition.name}.{config_name}]"
    variable = definition.base_url_variable
    if "base_url" in table:
        url, source = table["base_url"], f"base_url of {where}"
    elif config_name == "default" and variable and environ.get(variable):
        url, source = (
            environ[variable].rstrip("/") + definition.base_url_suffix,
            f"variable {variable}",
        )
    else:
        url, source = definition.base_url, f"plugin of {definition.name}"
    parts = _parsed(url, source)
    if (
        parts.scheme == "http"
        and not is_this_machine(parts.hostname or "")
        and table.get("allow_http") is not True
    ):
        raise NotReady(
            f"the address in {source} is plain http to another machine, which would send the key unencrypted",
            hint=f"use https, or set allow_http = true in {where} for a network that you trust",
        )
    return Address(url.rstrip("/"), own=_origin(parts) == _origin(urlsplit(definition.base_url)))


def _parsed(url: object, source: str) -> SplitResult:
    """Parse an address. Errors name its source only, because it may contain credentials.

    pydantic and httpx would take `https:///v1`, the one as the host `v1`, the other as no host.
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
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
