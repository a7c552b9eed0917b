"""`code-commit plugins`: list the installed plugins."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from code_commit.cli.host import CommandHost
from code_commit.cli.parser import add_json
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.host import Plugin
from code_commit.plugins.registry import Registry

_OFFERS = {
    "path_rules": "path rules",
    "model_layers": "model layers",
    "acceptance": "acceptance checks",
    "log_sinks": "log sinks",
    "after_run": "after run",
    "formats": "response formats",
}
_NO_OFFERS = {"addhooks", "checks", "commands", "providers", "secrets", "settings", "workflows"}


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
    from code_commit.plugins.distributions import unusable_dependents

    registry = host.registry
    disabled = registry.plugin_host.disabled
    rows = [_row(plugin, registry) for plugin in host.plugins]
    failures = [
        {**asdict(failure), "error": host.out.redacted(failure.error)}
        for failure in dict.fromkeys([*host.failures, *unusable_dependents(disabled)])
    ]
    if arguments.json:
        host.out.document({"plugins": rows, "failures": failures, "disabled": sorted(disabled)})
        return ExitCode.REACHED
    table = []
    for row in rows:
        offers = ", ".join(_offers(row))
        table.append((row["name"], row["distribution"], row["version"], offers))
    for failure in failures:
        ending = f"FAILED at {failure['stage']}: {failure['error']}"
        table.append((failure["plugin"], failure["distribution"], failure["version"], ending))
    host.out.table(table)
    return ExitCode.REACHED


def _row(plugin: Plugin, registry: Registry) -> dict[str, Any]:
    def names(offers: Mapping[str, tuple[Plugin, Any]]) -> list[str]:
        return [name for name, (owner, _) in offers.items() if owner is plugin]

    return {
        "name": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "guards_paths": plugin.guards_paths,
        "providers": names(registry.providers),
        "workflows": names(registry.workflows),
        "commands": names(registry.commands),
        "hooks": registry.plugin_host.hooks_of(plugin),
    }


def _offers(row: Mapping[str, Any]) -> Iterator[str]:
    for kind in ("provider", "workflow", "command"):
        yield from (f"{kind} {name}" for name in row[f"{kind}s"])
    hooks = [hook.removeprefix("code_commit_") for hook in row["hooks"]]
    yield from (offer for hook, offer in _OFFERS.items() if hook in hooks)
    others = (hook for hook in hooks if hook not in {*_OFFERS, *_NO_OFFERS})
    yield from (hook.replace("_", " ") for hook in others)  # hooks of other plugins
