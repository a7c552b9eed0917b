"""The host's file of first-party names matches the plugins.

After a first-party plugin gains or loses a flag, model, command, role or key variable, update the
file with `python tests/test_first_party.py`, in an environment with all plugins.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from code_commit.plugins import first_party
from code_commit.plugins.host import PluginHost
from code_commit.plugins.missing import explain_missing
from code_commit.plugins.registry import Registry

ROOT = Path(__file__).parent.parent
FILE = Path(first_party._FILE)


def distributions() -> set[str]:
    """Return the names of the distributions in `plugins/`, and of the test tools."""
    files = [*ROOT.glob("plugins/*/pyproject.toml"), ROOT / "testing/pyproject.toml"]
    return {tomllib.loads(file.read_text())["project"]["name"] for file in files}


def facts() -> dict[str, dict[str, list[str]]]:
    """Return the names that the installed first-party plugins offer, in the format of the file."""
    host = PluginHost()
    registry = Registry(host)
    names_of: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in distributions()}
    for plugin in host.plugins:
        if plugin.distribution in names_of:
            names_of[plugin.distribution]["plugin"].add(plugin.name)
    for plugin, provider in registry.providers.values():
        offered = names_of.get(plugin.distribution, defaultdict(set))
        offered["provider"].add(provider.name)
        offered["model"].update(provider.models, *provider.models.values())
        offered["key_variable"].update({provider.key_variable} - {None})
    for plugin, workflow in registry.workflows.values():
        offered = names_of.get(plugin.distribution, defaultdict(set))
        offered["workflow"].add(workflow.name)
        offered["flag"].update(name for flag in workflow.flags for name in flag.names)
        offered["role"].update(workflow.roles or (), workflow.optional_roles)
    for plugin, command in registry.commands.values():
        names_of.get(plugin.distribution, defaultdict(set))["command"].add(command.name)
    return {
        distribution: {kind: sorted(names) for kind, names in sorted(offered.items()) if names}
        for distribution, offered in sorted(names_of.items())
    }


pytestmark = pytest.mark.skipif(
    not distributions() <= {plugin.distribution for plugin in PluginHost().plugins},
    reason="needs all first-party plugins",
)


def test_the_file_matches_the_plugins():
    assert json.loads(FILE.read_text(encoding="utf-8")) == facts(), (
        "run `python tests/test_first_party.py`"
    )


@pytest.mark.parametrize(
    ("kind", "name", "distribution"),
    [
        ("flag", "--cc", "code-commit-consistency"),
        ("model", "flash", "code-commit-gemini"),
        ("model", "flash-lite", "code-commit-gemini"),
        ("model", "gpt-99", "code-commit-openai"),
        ("model", "o9-mini", "code-commit-openai"),
        ("model", "anthropic/any", "code-commit-anthropic"),
        ("role", "coach", "code-commit-planner"),
        ("model", "odd", None),
        ("model", "7b", None),
    ],
)
def test_the_owner_of_a_name_is_found(kind, name, distribution):
    assert first_party.owner(kind, name) == distribution


@pytest.mark.parametrize(
    ("kind", "name", "extra"),
    [
        ("flag", "--planning", "planner"),
        ("workflow", "committing-code", "commit"),
        ("model", "flash", "gemini"),
        ("model", "claude-99", "anthropic"),
        ("model", "openai/any", "openai"),
        ("model", "replay/latest", "history"),
        ("command", "rollup", "commit"),
        ("command", "plugins new", "testing"),
    ],
)
def test_a_missing_plugin_shows_how_to_install_it(kind, name, extra):
    nothing = Registry(PluginHost([]))
    error = explain_missing(nothing, kind, name)
    assert (
        f'in a checkout of code-commit, pip install ".[{extra}]" or uv tool install ".[all]"'
        in error.hint
    )


if __name__ == "__main__":
    FILE.write_text(json.dumps(facts(), indent=2) + "\n", encoding="utf-8")
