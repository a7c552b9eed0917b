"""Each environment of tox contains exactly the distributions of its name, as real builds."""

from __future__ import annotations

import importlib.metadata
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PLUGINS = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
ENVIRONMENT = os.environ.get("TOX_ENV_NAME", "")

pytestmark = pytest.mark.skipif(
    not ENVIRONMENT, reason="only tox knows which distributions to expect"
)


# The words of an environment's name that are no plugin, and the plugins that they need. The tests
# of the host run the default workflow with one provider.
SETS = {
    "host": set(),
    "workspace": set(),
    "core": {"commit", "history", "openai"},
    "lowest": set(),
    **dict.fromkeys(("all", "main", "plugins", "libraries"), PLUGINS),
}


def project(folder: Path) -> dict[str, Any]:
    """Return the table `project`, with what hatch_pins.py fills in."""
    tables = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    hooks = tables["tool"]["hatch"].get("metadata", {}).get("hooks", {})
    return tables["project"] | hooks.get("custom", {})


def expected_plugins() -> set[str]:
    _python, *words = ENVIRONMENT.split("-")
    plugins: set[str] = set()
    for word in words:
        plugins |= SETS[word] if word in SETS else {word, *needed_plugins(word)}
    return plugins


def needed_plugins(plugin: str) -> set[str]:
    """Return the other plugins that a plugin or its tests need."""
    declared = project(ROOT / "plugins" / plugin)
    needed = [
        *declared["dependencies"],
        *declared.get("optional-dependencies", {}).get("testing", []),
    ]
    names = {re.split(r"[^\w-]", text, maxsplit=1)[0] for text in needed}
    return {name for name in PLUGINS if f"code-commit-{name}" in names}


def expected_folders() -> list[Path]:
    """Return the folders of the expected distributions."""
    _python, name = ENVIRONMENT.split("-", maxsplit=1)
    if name == "workspace":
        return [ROOT / "workspace"]
    if name == "host":
        return [ROOT / "workspace", ROOT / "core"]
    plugins = [ROOT / "plugins" / plugin for plugin in sorted(expected_plugins())]
    return [ROOT / "workspace", ROOT / "core", ROOT / "testing", *plugins]


def installed() -> dict[str, importlib.metadata.Distribution]:
    """Return this project's installed distributions by name; a duplicate is a failure."""
    distributions: dict[str, importlib.metadata.Distribution] = {}
    for distribution in importlib.metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        if name == "code-commit" or name.startswith("code-commit-"):
            assert name not in distributions
            distributions[name] = distribution
    return distributions


def test_exactly_the_expected_distributions_are_installed() -> None:
    assert set(installed()) == {project(folder)["name"] for folder in expected_folders()}


def test_entry_points_match_the_expected_plugins() -> None:
    groups = ("code_commit", "code_commit.path_rules")
    owners = {
        point.dist.name
        for group in groups
        for point in importlib.metadata.entry_points(group=group)
    }
    folders = map(project, expected_folders())
    assert owners == {
        folder["name"] for folder in folders if folder.get("entry-points", {}).keys() & set(groups)
    }


def modules(package: Path) -> dict[str, bytes]:
    return {str(path.relative_to(package)): path.read_bytes() for path in package.rglob("*.py")}


def test_each_distribution_is_a_build_of_this_checkout() -> None:
    """If it is an old one, `uv cache clean` its name: uv does not see that a file was removed or
    renamed.
    """
    distributions = installed()
    for folder in expected_folders():
        name = project(folder)["name"]
        module = name.replace("-", "_")
        package = Path(str(distributions[name].locate_file(module)))
        assert not {ROOT / part for part in ("workspace", "core", "testing", "plugins")} & set(
            package.parents
        ), name
        assert modules(package) == modules(folder / "src" / module), name


def direct_requirements() -> Iterator[Requirement]:
    """Yield the third-party requirements of the installed distributions."""
    for folder in expected_folders():
        for text in project(folder)["dependencies"]:
            if not text.startswith("code-commit"):
                yield Requirement(text)


def lower_bound(requirement: Requirement) -> Version:
    bounds = [
        clause.version for clause in requirement.specifier if clause.operator in {">=", "~=", "=="}
    ]
    assert len(bounds) == 1, f"{requirement} has no lower bound"
    return Version(bounds[0])


def test_direct_dependencies_match_the_declarations() -> None:
    """They are within the bounds, and equal to the lower bounds in the environments `lowest`."""
    lowest: dict[str, Version] = {}
    for requirement in direct_requirements():
        bound = lower_bound(requirement)
        lowest[requirement.name] = max(bound, lowest.get(requirement.name, bound))
    present = {name: Version(importlib.metadata.version(name)) for name in lowest}
    if "-lowest-" in ENVIRONMENT:
        assert present == lowest
    else:
        assert not {name: version for name, version in present.items() if version < lowest[name]}
