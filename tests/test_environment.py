"""Each environment of tox holds exactly the distributions that its name says, as real builds."""

from __future__ import annotations

import importlib.metadata
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PLUGINS = {path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")}
ENVIRONMENT = os.environ.get("TOX_ENV_NAME", "")

pytestmark = pytest.mark.skipif(not ENVIRONMENT, reason="only tox knows which distributions are meant to be here")


def meant_plugins() -> set[str]:
    _, _, name = ENVIRONMENT.partition("-")
    if name == "core":
        return set()
    return PLUGINS if name in {"all", "lowest"} else {name, *stood_on(name)}


def stood_on(plugin: str) -> set[str]:
    """The other plugins that a plugin needs, or its tests do."""
    project = tomllib.loads((ROOT / "plugins" / plugin / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project.get("dependencies", []), *project.get("optional-dependencies", {}).get("testing", [])]
    names = {canonicalize_name(Requirement(text).name) for text in needed}
    return {name for name in PLUGINS if f"code-commit-{name}" in names}


def installed() -> dict[str, importlib.metadata.Distribution]:
    """This project's distributions, by name; one that is there twice counts as a failure."""
    found: dict[str, importlib.metadata.Distribution] = {}
    for distribution in importlib.metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        if name == "code-commit" or name.startswith("code-commit-"):
            assert name not in found
            found[name] = distribution
    return found


def test_exactly_the_meant_distributions_are_installed() -> None:
    assert set(installed()) == {"code-commit", *(f"code-commit-{name}" for name in meant_plugins())}


def test_entry_points_are_those_of_the_meant_plugins() -> None:
    groups = ("code_commit", "code_commit.path_rules")
    owners = {point.dist.name for group in groups for point in importlib.metadata.entry_points(group=group)}
    assert owners == {f"code-commit-{name}" for name in meant_plugins()}


def test_each_is_a_build_and_not_this_checkout() -> None:
    for name, distribution in installed().items():
        module = name.replace("-", "_")
        package = Path(str(distribution.locate_file(module)))
        assert (package / "__init__.py").is_file(), name
        assert ROOT / "core" not in package.parents
        assert ROOT / "plugins" not in package.parents


def direct_requirements() -> Iterator[Requirement]:
    """What the pyprojects of the installed distributions ask of others, the testing extra included."""
    folders = [ROOT / "core", *(ROOT / "plugins" / name for name in sorted(meant_plugins()))]
    for folder in folders:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        extras = project.get("optional-dependencies", {}).values()
        for text in [*project.get("dependencies", []), *(line for lines in extras for line in lines)]:
            requirement = Requirement(text)
            if requirement.name == "code-commit":
                continue
            if requirement.marker is None or requirement.marker.evaluate({"extra": "testing"}):
                yield requirement


def lower_bound(requirement: Requirement) -> Version:
    bounds = [clause.version for clause in requirement.specifier if clause.operator in {">=", "~=", "=="}]
    assert len(bounds) == 1, f"{requirement} has no lower bound"
    return Version(bounds[0])


def test_direct_dependencies_are_as_declared() -> None:
    """Within the bounds everywhere; in the environment `lowest` they are the bounds themselves."""
    lowest: dict[str, Version] = {}
    for requirement in direct_requirements():
        bound = lower_bound(requirement)
        lowest[requirement.name] = max(bound, lowest.get(requirement.name, bound))
    present = {name: Version(importlib.metadata.version(name)) for name in lowest}
    if ENVIRONMENT.endswith("-lowest"):
        assert present == lowest
    else:
        assert not {name: version for name, version in present.items() if version < lowest[name]}
