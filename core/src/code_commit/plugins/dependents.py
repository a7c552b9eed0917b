"""Installed distributions that depend on the host and fail as plugins: wrong versions, wrong entry point groups."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from importlib.metadata import Distribution, distributions

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from code_commit import __version__
from code_commit.plugin_api.host import PluginFailure
from code_commit.plugins.discovery import GROUP, PATH_RULES_GROUP
from code_commit.plugins.host import HOST
from code_commit_workspace import did_you_mean

GROUPS = frozenset({GROUP, PATH_RULES_GROUP})
_METADATA = ("entry_points.txt", "METADATA", "PKG-INFO", "requires.txt")
_NAME = re.compile(r"code[-_.]*commit", re.IGNORECASE)


def unusable_dependents(disabled: Collection[str] = ()) -> Iterator[PluginFailure]:
    """Examine the metadata of all distributions that are not `disabled`. It is slow: no start does it."""
    for each in distributions_naming_host():
        plugins = [entry for entry in each.entry_points if entry.group in GROUPS]
        owner = name_of(each)
        name = plugins[0].name if plugins else owner.removeprefix(f"{HOST}-")
        guards_paths = any(entry.group == PATH_RULES_GROUP for entry in plugins)
        if not {name, owner}.intersection(disabled):
            for stage, error in _faults_of(each):
                yield PluginFailure(name, owner, each.version, stage, error, guards_paths=guards_paths)


def name_of(distribution: Distribution) -> str:
    """Return its name; `Distribution.name` is None or fails where the metadata has none."""
    return next(iter(distribution.metadata.get_all("Name") or ()), "")


def distributions_naming_host() -> Iterator[Distribution]:
    """Yield the installed distributions whose metadata names the host: others are not parsed, which takes long.

    Of one whose entry points are no text, the plugin host reports the plugin.
    """
    for each in distributions():
        with suppress(ValueError):
            if any(_NAME.search(each.read_text(file) or "") for file in _METADATA) and each.entry_points is not None:
                yield each


def required_hosts(distribution: Distribution) -> list[Requirement]:
    """Return the requirements of a distribution that name the host."""
    found = []
    for text in distribution.requires or ():
        with suppress(InvalidRequirement):
            found.append(Requirement(text))
    return [each for each in found if canonicalize_name(each.name) == HOST]


def wrong_groups(distribution: Distribution) -> list[str]:
    """Return the entry point groups that look like the host's."""
    return sorted(filter(_NAME.match, {entry.group for entry in distribution.entry_points} - GROUPS))


def _faults_of(distribution: Distribution) -> Iterator[tuple[str, str]]:
    for each in required_hosts(distribution):
        applies = each.marker is None or each.marker.evaluate({"extra": ""})
        if applies and not each.specifier.contains(__version__, prereleases=True):
            yield "version", f"it needs code-commit {each.specifier}, and {__version__} is installed"
    for group in wrong_groups(distribution):
        yield "entry points", f"there is no group {group}{did_you_mean(group, GROUPS)}"
