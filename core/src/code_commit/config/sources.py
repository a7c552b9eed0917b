"""The sources of settings as tables: variables, the project's file, the user's file.

This module knows no setting by name and does not import pydantic, so that `keys` reads the sources quickly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from code_commit.plugin_api.errors import NotReady
from code_commit_workspace import read_anywhere, read_in_project

PREFIX = "CODE_COMMIT_"
PROJECT_FILE = "agent-config/config.toml"
KEY_FIELDS = frozenset({"api_key", "api_key_file"})
_SHORTEST = 8  # characters of a key
_LIMIT = 1024 * 1024

Name = tuple[str, ...]
"""A setting's name in its parts: `build.timeout_seconds` is `("build", "timeout_seconds")`."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of settings.

    `tables` holds its settings, including keys: drop a source after reading it. `label` names it in messages, relative
    paths start at `folder`. For the environment, `variables` maps the name of each setting to its variable.
    """

    label: str
    tables: Mapping[str, Any] = field(repr=False)
    folder: Path
    variables: Mapping[Name, str] = field(default_factory=dict)

    def origin(self, name: Name) -> str:
        """Return where in this source `name` was set, for messages."""
        for length in range(len(name), 0, -1):
            if variable := self.variables.get(name[:length]):
                return f"variable {variable}"
        return self.label

    def provider_configs(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Yield (provider, config name, table) for each named config in this source."""
        providers = self.tables.get("providers")
        for provider, configs in providers.items() if isinstance(providers, Mapping) else ():
            for config, table in configs.items() if isinstance(configs, Mapping) else ():
                if isinstance(table, Mapping):
                    yield provider, config, table


def sources(root: Path, environ: Mapping[str, str]) -> tuple[Source, ...]:
    """Return the sources for the project at `root`, strongest first: variables, the project's file, the user's file.

    Raises:
        NotReady: a file is broken or cannot be read, or two variables contradict each other.
    """
    return (variables_source(environ, root), project_source(root), user_source())


def variables_source(environ: Mapping[str, str], root: Path) -> Source:
    """Return the settings among the variables: `CODE_COMMIT_BUILD__TIMEOUT_SECONDS` is `build.timeout_seconds`.

    Values are text, or JSON if they are a list or table. An empty variable counts as not set.

    Raises:
        NotReady: a name has an empty part, or two variables set a value and a table of the same name.
    """
    variables: dict[Name, str] = {}
    tables: dict[str, Any] = {}
    for variable in sorted(name for name in environ if name.startswith(PREFIX) and environ[name]):
        name = tuple(variable.removeprefix(PREFIX).lower().split("__"))
        if not all(name):
            raise NotReady(f"variable {variable} is no setting's name", hint=f"write {PREFIX}TABLE__NAME")
        if not put(tables, name, _decoded(environ[variable])):
            raise NotReady(f"variable {variable} contradicts another variable of the same name, or of a part of it")
        variables[name] = variable
    return Source("variables", tables, root, variables)


def project_source(root: Path) -> Source:
    """Return the settings of the project's own file. Links are not followed."""
    content = read_in_project(root, PROJECT_FILE, limit=_LIMIT)
    return Source(PROJECT_FILE, _parsed(content, PROJECT_FILE), root / "agent-config")


def user_source() -> Source:
    """Return the settings of the user's file."""
    path = user_file()
    label = f"user config {path}"
    return Source(label, _parsed(read_anywhere(path, label, limit=_LIMIT), label), path.parent)


def user_file() -> Path:
    """Return the path of the user's own file, in the platform's configuration folder."""
    from platformdirs import user_config_path

    return user_config_path("code-commit", appauthor=False) / "config.toml"


def put(tables: dict[str, Any], name: Name, value: object) -> bool:
    """Set `name` in nested `tables`. Return False if it is set already, or if a part of it is no table."""
    for part in name[:-1]:
        below = tables.setdefault(part, {})
        if not isinstance(below, dict):
            return False
        tables = below
    if name[-1] in tables:
        return False
    tables[name[-1]] = value
    return True


def holds(tables: Mapping[str, Any], name: Name) -> bool:
    """Return whether `tables` sets `name`, or a plain value in place of its table."""
    here: object = tables
    for part in name:
        if not isinstance(here, Mapping):
            return True
        if part not in here:
            return False
        here = here[part]
    return True


def without_keys(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `tables` in which the `api_key` of each named config is redacted."""
    copy: dict[str, Any] = _copy(tables)
    for configs in copy.get("providers", {}).values():
        for table in configs.values() if isinstance(configs, dict) else ():
            if isinstance(table, dict) and "api_key" in table:
                table["api_key"] = redacted_value(table["api_key"])
    return copy


def redacted_value(value: object) -> str:
    """Return `***`, followed by the last two characters of a text as long as a key."""
    text = value.strip() if isinstance(value, str) else ""
    return f"***{text[-2:]}" if len(text) >= _SHORTEST else "***"


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(one) for name, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _decoded(text: str) -> Any:
    if text.startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            pass
    return text


def _parsed(content: bytes | None, label: str) -> dict[str, Any]:
    """Parse TOML. An error names the line and the mistake, not the text, which may hold a key."""
    if content is None:
        return {}
    import tomllib

    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NotReady(f"{label}, line {line}: not UTF-8", hint="save the file as UTF-8") from None
    except RecursionError:
        raise NotReady(f"{label}: nested too deeply") from None
    except ValueError as error:
        raise NotReady(f"{label}, {_place_and_kind(str(error), text)}", hint="mend the TOML on that line") from None


def _place_and_kind(message: str, text: str) -> str:
    reason, _, place = message.partition(" (at ")
    if found := re.match(r"line (\d+), column (\d+)", place):
        where = f"line {found[1]}, column {found[2]}"
    else:
        where = f"line {text.count(chr(10)) + 1}"
    if re.search(r"[(\[]|'[^']{3,}'|\"[^\"]{3,}\"", reason):  # these messages quote the file
        reason = "a name is given twice"
    return f"{where}: {reason[:1].lower()}{reason[1:]}"
