"""Examine the metadata of installed distributions that name the host, but fail as plugins."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from code_commit import __version__
from code_commit.plugin_api.host import HOST, PluginFailure
from code_commit.plugins.discovery import GROUP, GROUPS, PATH_RULES_GROUP
from code_commit_workspace.words import did_you_mean

if TYPE_CHECKING:  # these take long to import
    from importlib.metadata import Distribution

    from packaging.requirements import Requirement

_METADATA = ("entry_points.txt", "METADATA", "PKG-INFO", "requires.txt")
_NAME = re.compile(r"code[-_.]*commit", re.IGNORECASE)
# At the start of a requirement.
_HOST_NAME = re.compile(r"code[-_.]+commit(?![-_.]*\w)", re.IGNORECASE)


def unusable_dependents(disabled: Collection[str] = ()) -> Iterator[PluginFailure]:
    """Examine the metadata of all distributions that are not `disabled`.

    It is slow: no start does it.
    """
    for distribution in distributions_naming_host():
        plugins = [entry for entry in distribution.entry_points if entry.group in GROUPS]
        owner = name_of(distribution)
        name = owner.removeprefix(f"{HOST}-")
        if plugins:
            name = plugins[0].name
        if {name, owner}.intersection(disabled):
            continue
        guards_paths = any(entry.group == PATH_RULES_GROUP for entry in plugins)
        for stage, error in _faults_of(distribution):
            yield PluginFailure(
                name,
                owner,
                distribution.version,
                stage=stage,
                error=error,
                guards_paths=guards_paths,
            )


def name_of(distribution: Distribution) -> str:
    """Return its name; `Distribution.name` is None or fails where the metadata has none."""
    return next(iter(distribution.metadata.get_all("Name") or ()), "")


def distributions_naming_host() -> Iterator[Distribution]:
    """Yield the installed distributions whose metadata names the host.

    The metadata of others is not parsed, which takes long. The plugin host reports the plugin of a
    distribution whose entry points are not text.
    """
    from importlib.metadata import distributions

    for distribution in distributions():
        with suppress(ValueError):
            texts = (distribution.read_text(file) or "" for file in _METADATA)
            if any(map(_NAME.search, texts)) and distribution.entry_points is not None:
                yield distribution


def required_hosts(distribution: Distribution) -> Iterator[Requirement | str]:
    """Yield the requirements of a distribution that name the host; of a malformed one, the text."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in filter(_HOST_NAME.match, map(str.strip, distribution.requires or ())):
        try:
            yield Requirement(text)
        except InvalidRequirement:
            yield text


def faults_of_requirements(distribution: Distribution) -> Iterator[str]:
    """Yield what a distribution requires, besides the host, and what is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    from packaging.requirements import InvalidRequirement, Requirement

    for text in distribution.requires or ():
        try:
            requirement = Requirement(text)
        except InvalidRequirement:  # of the host, it is told elsewhere
            continue
        marker = requirement.marker
        is_host = _HOST_NAME.match(requirement.name)
        if is_host or (marker is not None and not marker.evaluate({"extra": ""})):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield f"it needs {requirement}, which is not installed"
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            yield f"it needs {requirement}, and {installed} is installed"


def fault_of_version(requirement: Requirement) -> str:
    """Return the error for a requirement that this host does not meet."""
    return f"it needs code-commit {requirement.specifier}, and {__version__} is installed"


def wrong_groups(distribution: Distribution) -> list[str]:
    """Return the entry point groups that look like the host's."""
    groups = {entry.group for entry in distribution.entry_points}
    return sorted(filter(_NAME.match, groups - GROUPS))


def _faults_of(distribution: Distribution) -> Iterator[tuple[str, str]]:
    for requirement in required_hosts(distribution):
        if isinstance(requirement, str):
            yield "version", f"its requirement {requirement!r} is malformed"
            continue
        marker = requirement.marker
        if requirement.specifier.contains(__version__, prereleases=True):
            continue
        if marker is None or marker.evaluate({"extra": ""}):
            yield "version", fault_of_version(requirement)
    for group in wrong_groups(distribution):
        similar = PATH_RULES_GROUP if "rule" in group else GROUP
        suggestion = did_you_mean(group, [similar])
        yield "entry points", f"there is no group {group}{suggestion}"
