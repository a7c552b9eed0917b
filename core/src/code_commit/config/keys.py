"""API keys.

`Settings` holds no key. The store reads the sources again, after it checked the project's
`.gitignore`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from code_commit.config.addresses import address_of
from code_commit.config.key_text import SHORTEST_KEY, bare_key, parse_key, require_bare
from code_commit.config.proxy import proxy_passwords
from code_commit.config.sources import (
    PROJECT_FILE,
    VARIABLE,
    ProviderConfig,
    Source,
    sources,
    user_file,
)
from code_commit.config.user_files import read_user_file
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER
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
        self,
        root: Path,
        redact: Callable[[str], None],
        environ: Mapping[str, str],
    ) -> None:
        require_gitignore_line(root, PRIVATE_FOLDER)
        self._root = root
        self._redact_key = redact
        self._environ = environ

    def key_for(
        self,
        definition: ProviderDefinition,
        config_name: str,
        table: Mapping[str, Any],
    ) -> FoundKey | None:
        """Return the key of a provider's config, or None if it has none and needs none.

        `table` is the config's table (`Settings.connection`), which sets the address. The config's
        own `api_key` or `api_key_file` comes first; then, for the config `default` only,
        `agent-config/<provider>-key.txt` and the provider's usual variable. A config with another
        address never gets the service's key by accident.

        Raises:
            NotReady: a key cannot be read, is invalid or in quotes, or the service's own address
                needs one.
        """
        if key := self._find(definition, config_name):
            self._hide(key)
            require_bare(key.value, key.source)
            return key
        address = address_of(definition, config_name, table, self._environ)
        if address.own and definition.key_variable is not None:
            raise self._missing(definition, config_name, address.url)
        return None

    def secret(self, variable: str) -> str | None:
        """Return the secret in an environment variable, or None where it is unset or empty.

        Raises:
            NotReady: the value cannot be redacted.
        """
        secret = self._variable(variable)
        if secret is None:
            return None
        self._redact_key(secret.value)
        return secret.value

    def redact_all(self, variables: Iterable[str]) -> None:
        """Redact every valid key, the passwords of proxies, and the values of `variables`.

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
        for config in self._configs_with_keys:
            for field_name in config.key_fields:
                self._redact(self._own_key, config, field_name)

    def variables_with_keys(self) -> frozenset[str]:
        """Return the environment variables that set a key field of a named config."""
        labels = [config.source.label for config in self._configs_with_keys]
        variables = [label for label in labels if label.startswith(VARIABLE)]
        return frozenset(variable.removeprefix(VARIABLE) for variable in variables)

    def files_elsewhere(self) -> tuple[Path, ...]:
        """Return what may hold keys outside `agent-config`.

        These are the user's file, which may be a link, its folder, and each `api_key_file`.
        """
        paths = [user_file().parent, user_file()]
        for source in sources(self._root, self._environ):
            paths += named_key_files(source)
        return tuple(paths)

    @cached_property
    def _configs_with_keys(self) -> list[ProviderConfig]:
        return [
            config
            for source in sources(self._root, self._environ)
            for config in source.provider_configs()
            if config.key_fields
        ]

    def _redact(self, read: Callable[..., FoundKey | None], *arguments: object) -> None:
        with suppress(NotReady):
            if key := read(*arguments):
                self._hide(key)

    def _hide(self, key: FoundKey) -> None:
        """Redact a key, also what is in its quotes."""
        self._redact_key(key.value)
        bare = bare_key(key.value)
        if bare != key.value and len(bare) >= SHORTEST_KEY:
            self._redact_key(bare)

    def _find(self, definition: ProviderDefinition, config_name: str) -> FoundKey | None:
        """Return the first key that a source holds, the strongest source first."""
        for config in self._configs_with_keys:
            if (config.provider, config.name) == (definition.name, config_name):
                return self._configured(config)
        if config_name != "default":
            return None
        if key := self._key_file(f"{definition.name}{_KEY_FILE}"):
            return key
        if definition.key_variable is None:
            return None
        return self._variable(definition.key_variable)

    def _configured(self, config: ProviderConfig) -> FoundKey:
        """Return the key that a config's own table sets."""
        names = config.key_fields
        if len(names) > 1:
            raise NotReady(
                f"{config.label} in {config.source.label} sets both {' and '.join(names)}",
                hint="remove one of them",
            )
        return self._own_key(config, names[0])

    def _own_key(self, config: ProviderConfig, field_name: str) -> FoundKey:
        """Return the key in a field of a config, its `api_key` or its `api_key_file`."""
        where = f"{config.source.label} {config.label} {field_name}"
        value = config.table[field_name]
        if not isinstance(value, str):
            raise NotReady(f"{where} is not a string")
        if field_name == "api_key":
            return FoundKey(parse_key(value, where), where)
        path = self._checked_key_path(config.source.folder, value, where)
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
        # Check every place on the way: a link that leads out again could be replaced.
        places = replaceable_places(path, root)
        if not all(place.is_relative_to(root / PRIVATE_FOLDER) for place in places):
            raise NotReady(
                f"{where}: {path} is in the project, where git and models can see it",
                hint=f"move the file to {root / PRIVATE_FOLDER}, or out of the project",
            )
        require_no_link_out(self._root, path, f"{where}: {path}")
        return path

    def _key_file(self, name: str) -> FoundKey | None:
        path = f"{PRIVATE_FOLDER}/{name}"
        content = read_in_project(self._root, path, limit=_LIMIT)
        if content is None:
            return None
        return FoundKey(_key_in(content, path), path)

    def _key_files(self) -> list[str]:
        """Return every key file by its name, also of providers that are not installed."""
        with (
            suppress(OSError),
            ProjectTree(self._root) as tree,
            tree.parent(f"{PRIVATE_FOLDER}/x") as (folder, _),
        ):
            names = os.listdir(folder)  # noqa: PTH208 - a descriptor
            return [name for name in names if name.endswith(_KEY_FILE)]
        return []

    def _variable(self, name: str) -> FoundKey | None:
        """Return the key in a variable.

        An empty one counts as not set: CI sets that for a missing secret.
        """
        value = self._environ.get(name)
        if not value:
            return None
        return FoundKey(parse_key(value, f"variable {name}"), f"variable {name}")

    def _missing(self, definition: ProviderDefinition, config_name: str, address: str) -> NotReady:
        config = f"[providers.{definition.name}.{config_name}]"
        key_file = f"{definition.name}{_KEY_FILE}"
        variable = definition.key_variable
        in_file = f"in {self._root / PROJECT_FILE} or {user_file()}"
        if config_name == "default":
            empty = " (it is empty now)" if variable in self._environ else ""
            hint = (
                f"write it to {self._root / PRIVATE_FOLDER / key_file}, "
                f"or set the variable {variable}{empty}, or set api_key in {config} {in_file}"
            )
        else:
            hint = f'set api_key, or api_key_file = "{key_file}", in {config} {in_file}'
        return NotReady(
            f"no key for {definition.name}.{config_name} at {address}",
            hint=f"{hint}; `code-commit doctor` checks it",
        )


def named_key_files(source: Source) -> Iterator[Path]:
    """Yield the path of each `api_key_file` in a source, existing or not."""
    for config in source.provider_configs():
        name = config.table.get("api_key_file")
        if isinstance(name, str):
            # `Path.expanduser` raises for unknown users.
            yield source.folder / os.path.expanduser(name)  # noqa: PTH111


def _key_in(content: bytes, where: str) -> str:
    # One character per byte, so that positions are those of bytes.
    return parse_key(content.decode("latin-1"), where)
