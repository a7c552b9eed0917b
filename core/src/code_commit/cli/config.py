"""`code-commit config`: print every setting, and where it comes from."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.config.sources import Name, redacted_value
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, NotReady

if TYPE_CHECKING:  # imported by the command that needs it: each is to start quickly
    from code_commit.config.loading import Settings
    from code_commit.plugins.host import PluginHost

_SECRET_WORDS = frozenset(
    {"key", "keys", "apikey", "token", "secret", "password", "authorization", "headers"}
)


def config_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `config`."""
    parser.description = (
        "Print every setting, its value in this folder, and where it comes from. Keys are censored."
    )
    add_json(parser)


def config(host: CommandHost, arguments: Namespace) -> int:
    """Print the settings of a run in this folder."""
    from code_commit.models.resolution import FIRST_MODEL, resolve

    rows = setting_rows(host.configuration, host.registry.plugin_host)
    with suppress(CodeCommitError):
        choice, _ = resolve(host.registry, host.configuration, "default")
        if choice.reason.startswith(FIRST_MODEL):
            [row] = [row for row in rows if row["name"] == "model"]
            row |= {"value": choice.name, "origin": choice.reason}
    key: dict[str, str | None] = dict.fromkeys(("config", "key", "source", "problem"))
    try:
        key |= key_of_model(host)
    except CodeCommitError as error:
        key["problem"] = error.message
    if arguments.json:
        host.out.document({"settings": rows, "key": key})
    else:
        table = []
        for row in rows:
            value = json.dumps(row["value"], ensure_ascii=False)
            table.append((row["name"], value, row["origin"]))
        name = "key"
        if key["config"]:
            name = f"key of {key['config']}"
        source = key["source"] or key["problem"] or "none is needed"
        table.append((name, json.dumps(key["key"]), source))
        host.out.table(table)
    return ExitCode.REACHED


def key_of_model(host: CommandHost, name: str | None = None) -> dict[str, str | None]:
    """Return the config of the model that a run here would ask, its redacted key, and its source.

    With `name`, return that of this model. The key and its source are None if the provider needs
    none.

    Raises:
        CodeCommitError: there is no such model, or its key is missing.
    """
    from code_commit.models.resolution import resolve

    _, resolved = resolve(host.registry, host.configuration, "default", name)
    definition = resolved.provider
    row: dict[str, str | None] = {
        "config": f"{definition.name}.{resolved.config}",
        "key": None,
        "source": None,
    }
    if definition.base_url:
        table = host.configuration.connection(definition.name, resolved.config)
        if key := host.keys_for(host.redactor).key_for(definition, resolved.config, table):
            row |= {"key": redacted_value(key.value), "source": key.source}
    return row


def setting_rows(settings: Settings, plugin_host: PluginHost) -> list[dict[str, Any]]:
    """Return every setting as `config --json` shows it.

    The host's own come first, those of plugins last. Keys are redacted. A section that is not valid
    shows as it is written.
    """
    from code_commit.config.schema import HostSettings, leaves
    from code_commit.run.plugin_settings import settings_model

    tables = settings.model_dump(mode="json")
    texts = dict(leaves(HostSettings))
    for plugin in plugin_host.plugins:
        with suppress(NotReady):
            if section := settings.plugin(plugin.name, settings_model(plugin_host, plugin)):
                tables["plugins"][plugin.name] = section.model_dump(mode="json")
                texts.update(leaves(type(section), ("plugins", plugin.name)))
    return [
        {
            "name": ".".join(name),
            "value": _display(name[2:], value),
            "origin": settings.origin(name),
            "description": texts.get(name, ""),
        }
        for name, value in _leaves(tables)
    ]


def _leaves(tables: Mapping[str, Any], above: Name = ()) -> Iterator[tuple[Name, Any]]:
    for name, value in tables.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def _display(name: Sequence[str], value: Any) -> Any:
    """Return the value of the setting `name` without secrets.

    A secret has a name with one of certain words, or is part of a URL.
    """
    words = set(re.split(r"[^a-z0-9]+", ".".join(name).lower()))
    is_secret = words & _SECRET_WORDS and not words & {"file", "path"}
    if is_secret and not isinstance(value, bool):
        return redacted_value(value)
    match value:
        case str():
            without_user = re.sub(r"(?<=//)[^/\s]*@", "***@", value)
            return re.sub(r"(?<!\S)((?>\S*?//)[^?#\s]*[?#])\S+", r"\1***", without_user)
        case Mapping():
            return {part: _display((*name, part), member) for part, member in value.items()}
        case list():
            return [_display(name, element) for element in value]
    return value
