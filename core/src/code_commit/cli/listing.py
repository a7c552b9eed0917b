"""`code-commit plugins` and `code-commit models`: text for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from code_commit.cli.arguments import RESERVED, Parser
from code_commit.plugin_host import PluginHost
from code_commit.records.errors import ExitCode
from code_commit.registry import Registry
from code_commit.terminal import printable


def plugins(argv: Sequence[str]) -> int:
    """List plugins with what they offer, and what failed and why."""
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
    failures = [asdict(failure) for failure in host.failures]
    if as_json:
        _print_document({"plugins": rows, "failures": failures, "disabled": sorted(host.disabled)})
        return ExitCode.REACHED
    for row in rows:
        offers = [f"provider {each}" for each in row["providers"]] + [f"workflow {each}" for each in row["workflows"]]
        offers += ["path rules"] * row["guards_paths"]
        _print(f"{row['name']:<16}{row['distribution']} {row['version']:<12} {', '.join(offers)}")
    for failure in failures:
        _print(
            f"{failure['plugin']:<16}{failure['distribution']} {failure['version']:<12} FAILED at {failure['stage']}"
        )
        _print(f"{'':<16}{failure['error']}")
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
        _print_document({"models": rows})
        return ExitCode.REACHED
    for row in rows:
        _print(f"{row['model']:<28}{row['provider']:<12}{', '.join(row['aliases'])}")
    for name in sorted(registry.providers):
        _print(f"{name + '/ANY-ID':<28}{name:<12}any other model of this provider")
    if not rows:
        _print("no provider is installed: pip install code-commit-gemini (or -openai, -anthropic)")
    return ExitCode.REACHED


def _loaded(command: str, argv: Sequence[str]) -> tuple[PluginHost, Registry, bool]:
    parser = Parser(prog=f"code-commit {command}")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--disable-plugin", action="append", default=[], metavar="NAME", help="leave a plugin out")
    arguments = parser.parse_args(argv)
    host = PluginHost(disabled=arguments.disable_plugin)
    return host, Registry(host, reserved_flags=RESERVED), arguments.json


def _print(line: str) -> None:
    sys.stdout.write(printable(line.rstrip()) + "\n")


def _print_document(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
