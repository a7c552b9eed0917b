"""`code-commit plugins` and `code-commit models`: text for people, one JSON document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from code_commit.cli.arguments import RESERVED
from code_commit.cli.censoring import censored
from code_commit.cli.parser import Parser
from code_commit.cli.tables import print_document, print_line, print_table
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugins.first_party import installation, offers
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry

_DESCRIPTIONS = {
    "plugins": "List the installed plugins: what is loaded, and what failed and why. "
    "`code-commit plugins doctor` examines them more closely.",
    "models": "List the models of the installed providers, each with the other names that it goes by.",
}


def plugins(argv: Sequence[str]) -> int:
    """List plugins with what they offer, and what failed and why; `doctor` examines them more closely."""
    if argv and argv[0] == "doctor":
        from code_commit.cli.doctor import doctor

        return doctor(argv[1:])
    host, registry, as_json = _loaded("plugins", argv)
    rows: list[dict[str, Any]] = [
        {
            "name": plugin.name,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "guards_paths": plugin.guards_paths,
            "providers": [name for name, (owner, _) in registry.providers.items() if owner is plugin],
            "workflows": [name for name, (owner, _) in registry.workflows.items() if owner is plugin],
        }
        for plugin in host.plugins
    ]
    failures = [{**asdict(failure), "error": censored(failure.error)} for failure in host.failures]
    if as_json:
        print_document({"plugins": rows, "failures": failures, "disabled": sorted(host.disabled)})
        return ExitCode.REACHED
    table = [(row["name"], row["distribution"], row["version"], ", ".join(_offers(row))) for row in rows]
    table += [
        (each["plugin"], each["distribution"], each["version"], f"FAILED at {each['stage']}: {each['error']}")
        for each in failures
    ]
    print_table(table)
    return ExitCode.REACHED


def models(argv: Sequence[str]) -> int:
    """List the models of the installed providers, with the names people may type."""
    _, registry, as_json = _loaded("models", argv)
    rows: list[dict[str, Any]] = [
        {"model": model, "provider": name, "aliases": list(aliases), "distribution": plugin.distribution}
        for name, (plugin, definition) in sorted(registry.providers.items())
        for model, aliases in definition.models.items()
    ]
    if as_json:
        print_document({"models": rows})
        return ExitCode.REACHED
    table = [(row["model"], row["provider"], ", ".join(row["aliases"])) for row in rows]
    services = [name for name, (_, definition) in sorted(registry.providers.items()) if not definition.free]
    table += [(f"{name}/ANY-ID", name, "any other model of this provider") for name in services]
    print_table(table)
    if not services:
        providers = [name for name, offered in offers().items() if "model" in offered]
        print_line("no provider is installed. Install one:")
        print_table([("", installation(each)) for each in providers])
    return ExitCode.REACHED


def _loaded(command: str, argv: Sequence[str]) -> tuple[PluginHost, Registry, bool]:
    parser = Parser(prog=f"code-commit {command}", description=_DESCRIPTIONS[command])
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--disable-plugin", action="append", default=[], metavar="NAME", help="leave a plugin out; may be repeated"
    )
    arguments = parser.parse_args(argv)
    host = PluginHost(disabled=arguments.disable_plugin)
    return host, Registry(host, reserved_flags=RESERVED), arguments.json


def _offers(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"provider {name}" for name in row["providers"])
    yield from (f"workflow {name}" for name in row["workflows"])
    if row["guards_paths"]:
        yield "path rules"
