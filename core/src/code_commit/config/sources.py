"""The sources of settings as tables: variables, the project's file, the user's file.

pydantic-settings merges these tables (`merging`). Its own sources do not read them: its TOML source
follows links and quotes the file in errors, its environment source ignores misspelled variables and
turns a key of digits into a number, and `keys` reads the same tables without importing pydantic.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from code_commit.config.toml import parse_toml
from code_commit.config.user_files import read_user_file
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.own_folders import config_folder
from code_commit.plugin_api.private_folder import PRIVATE_FOLDER
from code_commit_workspace import read_in_project

PREFIX = "CODE_COMMIT_"
PROJECT_FILE = f"{PRIVATE_FOLDER}/config.toml"
KEY_FIELDS = frozenset({"api_key", "api_key_file"})
VARIABLE = "variable "
FLAG = "flag"
_LIMIT = 1024 * 1024
_SHORTEST_KEY = 8  # characters

Name = tuple[str, ...]
"""A setting's name in its parts: `build.timeout_seconds` is `("build", "timeout_seconds")`."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of settings: a file, one variable, or one flag.

    `tables` holds its settings, including keys: drop a source after reading it. `label` names it in
    messages, relative paths start at `folder`.
    """

    label: str
    tables: Mapping[str, Any] = field(repr=False)
    folder: Path

    def sets(self, name: Name) -> bool:
        """Return whether this source sets `name`, or a plain value in place of its table."""
        value: object = self.tables
        for part in name:
            if not isinstance(value, Mapping):
                return True
            if part not in value:
                return False
            value = value[part]
        return True

    def provider_configs(self) -> Iterator[ProviderConfig]:
        """Yield each named config in this source."""
        for provider, configs in _members(self.tables.get("providers")):
            for name, table in _members(configs):
                if isinstance(table, Mapping):
                    yield ProviderConfig(provider, name, table, source=self)

    def without_keys(self) -> Source:
        """Return a copy in which the `api_key` of each named config is redacted."""
        redacted = replace(self, tables=copy.deepcopy(self.tables))
        for config in redacted.provider_configs():
            table = config.table
            if isinstance(table, dict) and "api_key" in table:
                table["api_key"] = redacted_value(table["api_key"])
        return redacted


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """A named config of a provider, as one source has it: `[providers.PROVIDER.NAME]`."""

    provider: str
    name: str
    table: Mapping[str, Any] = field(repr=False)
    source: Source

    @property
    def key_fields(self) -> list[str]:
        """The fields of the table that set a key, sorted."""
        return sorted(KEY_FIELDS & self.table.keys())

    @property
    def label(self) -> str:
        """The name of the table, for messages."""
        return f"[providers.{self.provider}.{self.name}]"


def _members(table: object) -> Iterable[tuple[str, Any]]:
    """Return the members of a table; none if it is something else."""
    if isinstance(table, Mapping):
        return table.items()
    return ()


def sources(root: Path, environ: Mapping[str, str]) -> tuple[Source, ...]:
    """Return the sources for the project at `root`, strongest first.

    These are variables, the project's file, and the user's file.

    Raises:
        NotReady: a file is broken or cannot be read, or a variable does not name a setting.
    """
    project_content = read_in_project(root, PROJECT_FILE, limit=_LIMIT)
    path = user_file()
    label = f"user config {path}"
    user_content = read_user_file(path, label, limit=_LIMIT)
    return (
        *_variables(root, environ),
        Source(PROJECT_FILE, parse_toml(project_content, PROJECT_FILE), root / PRIVATE_FOLDER),
        Source(label, parse_toml(user_content, label), path.parent),
    )


def _variables(root: Path, environ: Mapping[str, str]) -> Iterator[Source]:
    """Yield a source for each variable, such as `CODE_COMMIT_BUILD__TIMEOUT_SECONDS`.

    That one sets `build.timeout_seconds`. Values are text, or JSON if they are a list or table. An
    empty variable counts as not set. A variable for a part of a table comes before one for the
    whole table.
    """
    variables = [name for name in environ if name.startswith(PREFIX) and environ[name]]
    variables.sort(key=lambda variable: (-variable.count("__"), variable))
    for variable in variables:
        name = tuple(variable.removeprefix(PREFIX).lower().split("__"))
        value = _decoded(environ[variable])
        is_plugin = name[0] == "plugins" and len(name) <= 2  # noqa: PLR2004 - the plugin's table
        if is_plugin and isinstance(value, str):
            raise _not_a_setting(variable)
        if not all(name) or name[0].startswith(("plugins_", "providers_")):
            raise _not_a_setting(variable)
        yield Source(VARIABLE + variable, nested(name, value), root)


def _not_a_setting(variable: str) -> NotReady:
    """Return the error for a variable whose underscores do not name a setting."""
    example = f"{PREFIX}PLUGINS__COMMIT__REPAIRS"
    if match := re.search("PLUGINS_+([^_]+)_+(.+)", variable):
        example = f"{PREFIX}PLUGINS__{match[1]}__{match[2]}"
    return NotReady(
        f"variable {variable} does not name a setting",
        hint=f"put two underscores after each table: {example}",
    )


def nested(name: Name, value: Any) -> Any:
    """Return tables that set only `name`."""
    for part in reversed(name):
        value = {part: value}
    return value


def user_file() -> Path:
    """Return the path of the user's own file, in the platform's configuration folder.

    Raises:
        NotReady: there is no home folder; or the path is relative, so that the project in the
            working directory would bring it along.
    """
    path = config_folder() / "config.toml"
    if not path.is_absolute():
        raise NotReady(
            f"your own configuration would be {path}, which is relative to the project",
            hint="set HOME, and XDG_CONFIG_HOME if you use it, to absolute paths",
        )
    return path


def redacted_value(value: object) -> str:
    """Return `***`, followed by the last two characters of a text as long as a key.

    A redacted value stays as it is.
    """
    if not isinstance(value, str):
        return "***"
    text = value.strip()
    if text.startswith("***") and len(text) <= len("***xx"):
        return text
    if len(text) < _SHORTEST_KEY:
        return "***"
    return f"***{text[-2:]}"


def _decoded(text: str) -> Any:
    if text.startswith(("[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text
