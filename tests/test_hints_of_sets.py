"""No set of distributions shows a hint that names a command of a plugin that is not in it.

The sets are those that people install, the extras, and those that tox tests.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from code_commit.cli.arguments import load_registry
from code_commit.plugins import first_party
from code_commit.plugins.discovery import discover

ROOT = Path(__file__).parents[1]
PLUGINS = frozenset(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
COMMAND = re.compile(r"`code-commit ([a-z][\w-]*)")
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def sets() -> Iterator[frozenset[str]]:
    """Yield the plugins of each set."""
    hatch = tomllib.loads((ROOT / "core/pyproject.toml").read_text())["tool"]["hatch"]
    extras = hatch["metadata"]["hooks"]["custom"]["optional-dependencies"]
    for requirements in extras.values():
        names = {re.split(r"[^\w-]", text)[0].removeprefix("code-commit-") for text in requirements}
        yield frozenset(names & PLUGINS)
    for name in re.findall(r"\bpy-([\w-]+)", (ROOT / "tox.ini").read_text()):
        yield frozenset(name.split("-")) & PLUGINS


@cache
def hints() -> frozenset[tuple[str, str]]:
    """Return the texts of the code that name a command, each with its distribution."""
    texts: set[tuple[str, str]] = set()
    for folder in (ROOT / "core", *ROOT.glob("plugins/*")):
        for file in folder.glob("src/**/*.py"):
            texts |= {(folder.name, text) for text in _texts(ast.parse(file.read_text("utf-8")))}
    return frozenset((name, text) for name, text in texts if COMMAND.search(text))


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts of one line in the code; a value in a text is an x."""
    if isinstance(node, ast.JoinedStr):
        values = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
        yield "".join(map(str, values))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if "\n" not in node.value:
            yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


@pytest.mark.parametrize(
    "plugins", sorted(set(sets()), key=sorted), ids=lambda names: "-".join(sorted(names))
)
def test_hints_name_what_the_set_has(plugins):
    in_set = {f"code-commit-{name}" for name in plugins}
    registry = load_registry(sorted({source.distribution for source in discover()} - in_set))
    missing_commands = first_party.names("command") - registry.commands.keys()
    flags = {flag for name in registry.workflows for flag in registry.flags_of(name)}
    missing_flags = first_party.names("flag") - flags
    texts = [text for name, text in hints() if name in {"core", *plugins}]
    assert len(texts) > 20
    for hint in texts:
        shown = registry.hint_for(hint)
        named = {name for name in COMMAND.findall(shown) if name in missing_commands}
        # The end of a hint says what to install for a flag.
        text = re.sub(r"(^|; )for --[\w-]+: ", r"\1", shown)
        named |= {flag for flag in FLAG.findall(text) if flag in missing_flags}
        assert not named, shown
        assert shown
