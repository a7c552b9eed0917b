"""Hints that name only what is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from code_commit.plugin_api.how_to_install import installation
from code_commit.plugins import first_party
from code_commit.plugins.discovery import discover
from code_commit.plugins.registry import Kind, Registry

_BETWEEN_CLAUSES = "; "
_COMMAND = re.compile(
    r"`code-commit (?:-C (?:'[^']*'|\S+) )?(?P<name>[a-z][\w-]*+(?: [a-z][\w-]*+)?)[^`]*`"
)
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# One of two ways: "with codeRollup.sh or `code-commit rollup`".
_SECOND_WAY = re.compile(r",? or (?:with )?`code-commit [^`]*`")


def hint_for(registry: Registry, text: str) -> str:
    """Return a hint without what it says about commands and flags that are not installed.

    If it gives no other way, it says how to install them.
    """
    clauses: list[str] = []
    missing: dict[str, str] = {}  # by what the hint names
    for clause in text.split(_BETWEEN_CLAUSES):
        one_way = _SECOND_WAY.sub(lambda way: _if_installed(registry, way[0]), clause)
        if owners := dict(_missing(registry, one_way)):
            missing |= owners
        else:
            clauses.append(one_way)
    for subject, owner in missing.items():
        clauses.append(f"for {subject}: {installation(owner)}")
    return _BETWEEN_CLAUSES.join(clauses)


def _if_installed(registry: Registry, text: str) -> str:
    return "" if any(_missing(registry, text)) else text


def _missing(registry: Registry, text: str) -> Iterator[tuple[str, str]]:
    """Yield what `text` names of first-party plugins that are not installed, and its owner."""
    names: list[tuple[Kind, str]] = []
    for command in _COMMAND.finditer(text):
        name = command["name"]
        kind: Kind = "command"
        if not first_party.owner(kind, name):  # such as `plugins new`
            name = name.partition(" ")[0]
        names.append((kind, name))
    of_workflows = _COMMAND.sub("", text)  # a command has flags of its own
    names += [("flag", name) for name in _FLAG.findall(of_workflows)]
    for kind, name in names:
        owner = first_party.owner(kind, name)
        if owner and not _offers(registry, kind, name) and not is_installed(registry, owner):
            yield (name if kind == "flag" else f"the command {name}"), owner


def _offers(registry: Registry, kind: Kind, name: str) -> bool:
    if kind == "command":
        return name in registry.commands
    return any(name in registry.flags_of(workflow) for workflow in registry.workflows)


def is_installed(registry: Registry, distribution: str) -> bool:
    """Return whether a plugin is loaded, or would be: a command loads its own plugin alone."""
    plugin_host = registry.plugin_host
    if any(plugin.distribution == distribution for plugin in plugin_host.plugins):
        return True
    return any(
        source.distribution == distribution
        and not plugin_host.disabled & {source.name, source.distribution}
        for source in discover()
    )
