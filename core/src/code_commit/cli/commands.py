"""The host's commands: plugins, models, config. They are registered like those of a plugin."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from code_commit.cli.host import CommandHost
from code_commit.config.sources import Name, redacted_value
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, NotReady
from code_commit_workspace import describe
from code_commit_workspace.words import count_of

if TYPE_CHECKING:  # imported by the command that needs it: each is to start quickly
    from code_commit.config.loading import Settings
    from code_commit.plugins.host import PluginHost

_SECRET_WORDS = frozenset(
    {"key", "keys", "apikey", "token", "secret", "password", "authorization", "headers"}
)


def add_json(parser: ArgumentParser) -> None:
    """Add `--json`, with the same help in every command."""
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


# --- plugins and models ---------------------------------------------------------------------------------------------


def plugins_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `plugins`."""
    parser.description = (
        "List the installed plugins: what is loaded, and what failed and why. For plugin authors, "
        "there is `code-commit plugins doctor`, and code-commit-testing adds "
        "`code-commit plugins new`."
    )
    add_json(parser)


def plugins(host: CommandHost, arguments: Namespace) -> int:
    """List plugins, their offers and their failures."""
    from code_commit.plugins.discovery import unusable_dependents

    registry = host.registry
    offers = {
        "providers": registry.providers,
        "workflows": registry.workflows,
        "commands": registry.commands,
    }
    rows: list[dict[str, Any]] = [
        {
            "name": plugin.name,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "guards_paths": plugin.guards_paths,
            **{
                kind: [name for name, (owner, _) in known.items() if owner is plugin]
                for kind, known in offers.items()
            },
            "hooks": registry.plugin_host.hooks_of(plugin),
        }
        for plugin in host.plugins
    ]
    failed = dict.fromkeys([*host.failures, *unusable_dependents(registry.plugin_host.disabled)])
    failures = [
        {**asdict(failure), "error": host.out.redacted(failure.error)} for failure in failed
    ]
    if arguments.json:
        host.out.document(
            {
                "plugins": rows,
                "failures": failures,
                "disabled": sorted(registry.plugin_host.disabled),
            }
        )
        return ExitCode.REACHED
    table = [
        (row["name"], row["distribution"], row["version"], ", ".join(_offers(row))) for row in rows
    ]
    table += [
        (
            each["plugin"],
            each["distribution"],
            each["version"],
            f"FAILED at {each['stage']}: {each['error']}",
        )
        for each in failures
    ]
    host.out.table(table)
    return ExitCode.REACHED


def _offers(row: Mapping[str, Any]) -> Iterator[str]:
    for kind in ("provider", "workflow", "command"):
        yield from (f"{kind} {name}" for name in row[f"{kind}s"])
    for hook in ("path_rules", "model_layers", "log_sinks", "after_run"):
        if f"code_commit_{hook}" in row["hooks"]:
            yield hook.replace("_", " ")


def models_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `models`."""
    parser.description = "List the models of the installed providers, with their aliases."
    parser.add_argument(
        "--refresh", action="store_true", help="ask the services which models they have"
    )
    add_json(parser)


def models(host: CommandHost, arguments: Namespace) -> int:
    """List the models of the installed providers, with their aliases: of the plugins, then of the
    services' lists.
    """
    from code_commit.models.listed_models import listed_models, window_of

    code = _refresh(host) if arguments.refresh else ExitCode.REACHED
    providers, listed = host.registry.providers, listed_models()
    rows: list[dict[str, Any]] = [
        {
            "model": model,
            "provider": name,
            "aliases": list(definition.models.get(model, ())),
            "window": window_of(definition, model, listed),
            "distribution": plugin.distribution,
        }
        for name, (plugin, definition) in sorted(providers.items())
        for model in dict.fromkeys((*definition.models, *listed.get(name, {})))
    ]
    if arguments.json:
        host.out.document({"models": rows})
        return code
    table = [(row["model"], row["provider"], ", ".join(row["aliases"])) for row in rows]
    services = [name for name, (_, definition) in sorted(providers.items()) if not definition.free]
    table += [(f"{name}/ANY-ID", name, "any other model of this provider") for name in services]
    host.out.table(table)
    if not services:
        from code_commit.plugins.first_party import installation, offers

        host.out.line("no provider is installed. Install one:")
        host.out.table(
            [("", installation(name)) for name, offered in offers().items() if "model" in offered]
        )
    return code


def _refresh(host: CommandHost) -> int:
    """Ask the services for their models, and store the answers.

    Return an exit code: 3 if none could be asked.
    """
    from code_commit.models.listed_models import listed_models, store_listed_models, usable_models
    from code_commit.models.resolution import ResolvedModel, Services
    from code_commit.plugin_api.conversation import ProviderError

    redactor, code, listed = host.redactor, ExitCode.NOT_READY, listed_models()
    services = Services(
        host.registry,
        host.configuration,
        host.keys_for(redactor),
        redactor,
        host.environ,
        host.root,
    )
    for name, (plugin, definition) in sorted(host.registry.providers.items()):
        try:
            if definition.base_url:
                ask: Any = services.connected(ResolvedModel(plugin, definition, None)).provider
                new = usable_models(ask.models())
                listed[name] = {
                    each: new[each] for each in new if redactor.text(each) == each
                } or listed.get(name, {})
                host.out.note(f"{name} lists {count_of(len(new), 'model')}")
                code = ExitCode.REACHED if code is ExitCode.NOT_READY else code
        except NotReady as error:
            host.out.note(f"{name} was not asked: {error.message}")
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            fault = f"the provider {name} of {plugin.distribution} failed: {describe(error)}"
            host.out.error(str(error) if isinstance(error, ProviderError) else fault)
            code = ExitCode.PROVIDER_FAILED
    store_listed_models(listed)
    return code


# --- config ---------------------------------------------------------------------------------------------------------


def config_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `config`."""
    parser.description = (
        "Print every setting, its value in this folder, and where it comes from. Keys are censored."
    )
    add_json(parser)


def config(host: CommandHost, arguments: Namespace) -> int:
    """Print the settings of a run in this folder."""
    rows = setting_rows(host.configuration, host.registry.plugin_host)
    key: dict[str, str | None] = {"config": None, "key": None, "source": None, "problem": None}
    try:
        key |= key_of_model(host)
    except CodeCommitError as error:
        key["problem"] = error.message
    if arguments.json:
        host.out.document({"settings": rows, "key": key})
    else:
        table = [
            (row["name"], json.dumps(row["value"], ensure_ascii=False), row["origin"])
            for row in rows
        ]
        name = f"key of {key['config']}" if key["config"] else "key"
        host.out.table(
            [
                *table,
                (name, json.dumps(key["key"]), key["source"] or key["problem"] or "none is needed"),
            ]
        )
    return ExitCode.REACHED


def key_of_model(host: CommandHost) -> dict[str, str | None]:
    """Return the config of the model that a run here would ask, its key without all but two
    characters, and its source.

    The key and its source are None if the provider needs none.

    Raises:
        CodeCommitError: there is no such model, or its key is missing.
    """
    from code_commit.models.resolution import resolve

    _, resolved = resolve(host.registry, host.configuration, "default")
    definition = resolved.provider
    found: dict[str, str | None] = {
        "config": f"{definition.name}.{resolved.config}",
        "key": None,
        "source": None,
    }
    if definition.base_url:
        table = host.configuration.connection(definition.name, resolved.config)
        if key := host.keys_for(host.redactor).key_for(definition, resolved.config, table):
            found |= {"key": redacted_value(key.value), "source": key.source}
    return found


def setting_rows(settings: Settings, plugin_host: PluginHost) -> list[dict[str, Any]]:
    """Return every setting as `config --json` shows it, the host's own first, those of plugins
    last.

    Keys are redacted. A section that is not valid shows as it is written.
    """
    from code_commit.config.schema import HostSettings, leaves
    from code_commit.run.assembly import settings_model

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
    """Return the value of the setting `name` without secrets, which the words of names and the form
    of URLs tell.
    """
    words = set(re.split(r"[^a-z0-9]+", ".".join(name).lower()))
    if words & _SECRET_WORDS and not words & {"file", "path"}:
        return value if isinstance(value, bool) else redacted_value(value)
    match value:
        case str():
            return re.sub(
                r"(//[^?#\s]*[?#])\S+", r"\1***", re.sub(r"(?<=//)[^/\s]*@", "***@", value)
            )
        case Mapping():
            return {part: _display((*name, part), one) for part, one in value.items()}
        case list():
            return [_display(name, one) for one in value]
    return value
