"""Find the entry points of installed plugins without importing the plugins.

Entry points are read as plain files. `importlib.metadata` takes three times as long as the rest of
a start: it imports an e-mail parser and reads the metadata of every distribution.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from code_commit import __version__
from code_commit.plugin_api.host import HOST, PluginFailure
from code_commit_workspace.words import did_you_mean

if TYPE_CHECKING:  # these take long to import
    from importlib.metadata import Distribution

    from packaging.requirements import Requirement

GROUP = "code_commit"
PATH_RULES_GROUP = "code_commit.path_rules"
GROUPS = frozenset({GROUP, PATH_RULES_GROUP})
_METADATA = ("entry_points.txt", "METADATA", "PKG-INFO", "requires.txt")
_ENTRY = re.compile(rb"^\s*([^=#;\[\s][^=]*?)\s*=\s*([^#\s]+)", re.MULTILINE)
_FIELD = re.compile(r"^(Name|Version):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_NAME = re.compile(r"code[-_.]*commit", re.IGNORECASE)
# At the start of a requirement.
_HOST_NAME = re.compile(r"code[-_.]+commit(?![-_.]*\w)", re.IGNORECASE)
_SECTION = re.compile(rb"^\s*\[([^\]]+)\]\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class PluginSource:
    """An entry point: `value` is `"package.module"` or `"package.module:object"`."""

    name: str
    distribution: str
    version: str
    group: str
    value: str

    @property
    def guards_paths(self) -> bool:
        """Whether a writing workflow must not start without the plugin."""
        return self.group == PATH_RULES_GROUP


def discover(path: Sequence[str] | None = None) -> tuple[PluginSource, ...]:
    """Return the entry points of both groups in loading order: by name, then distribution.

    Of a distribution that is on `path` (default `sys.path`) twice, the first one counts, as for
    imports.
    """
    found: set[PluginSource] = set()
    seen: set[str] = set()
    for folder in dict.fromkeys(sys.path if path is None else path):
        for distribution, version, text in _in_folder(folder or "."):
            normal = re.sub(r"[-_.]+", "-", distribution).lower()
            if normal not in seen:
                seen.add(normal)
                found.update(_sources(distribution, version, text))
    return tuple(sorted(found))


def _in_folder(folder: str) -> Iterator[tuple[str, str, bytes]]:
    try:
        names = sorted(
            entry.name
            for entry in os.scandir(folder)
            if entry.name.endswith((".dist-info", ".egg-info"))
        )
    except OSError:
        return  # it does not exist, or is a zip file, from which pydantic could not be imported
    for name in names:
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:  # noqa: PTH118, PTH123 - pathlib costs
                text = file.read()
        except OSError:
            continue  # most distributions have none
        if GROUP.encode() in text:
            yield (*_name_and_version(os.path.join(folder, name)), text)  # noqa: PTH118 - pathlib costs


def _name_and_version(info: str) -> tuple[str, str]:
    name, _, version = os.path.basename(info).rpartition(".")[0].partition("-")  # noqa: PTH119 - pathlib costs
    for file_name in ("METADATA", "PKG-INFO"):
        try:
            with open(os.path.join(info, file_name), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
                # A description follows.
                fields = dict(_FIELD.findall(file.read().partition("\n\n")[0]))
        except OSError:
            continue
        return fields.get("Name", name), fields.get("Version", version)
    return name, version


def _sources(distribution: str, version: str, text: bytes) -> Iterable[PluginSource]:
    sections = _SECTION.split(text)
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        group = title.strip().decode("utf-8", "replace")
        for entry in _ENTRY.findall(body) if group in GROUPS else ():
            name, value = (part.decode("utf-8", "replace") for part in entry)
            yield PluginSource(name, distribution, version, group, value)


# --- distributions that fail as plugins ------------------------------------------------------------------------------


def unusable_dependents(disabled: Collection[str] = ()) -> Iterator[PluginFailure]:
    """Examine the metadata of all distributions that are not `disabled`.

    It is slow: no start does it.
    """
    for each in distributions_naming_host():
        plugins = [entry for entry in each.entry_points if entry.group in GROUPS]
        owner = name_of(each)
        name = plugins[0].name if plugins else owner.removeprefix(f"{HOST}-")
        guards_paths = any(entry.group == PATH_RULES_GROUP for entry in plugins)
        if not {name, owner}.intersection(disabled):
            for stage, error in _faults_of(each):
                yield PluginFailure(
                    name, owner, each.version, stage, error, guards_paths=guards_paths
                )


def name_of(distribution: Distribution) -> str:
    """Return its name; `Distribution.name` is None or fails where the metadata has none."""
    return next(iter(distribution.metadata.get_all("Name") or ()), "")


def distributions_naming_host() -> Iterator[Distribution]:
    """Yield the installed distributions whose metadata names the host: others are not parsed, which
    takes long.

    Of one whose entry points are no text, the plugin host reports the plugin.
    """
    from importlib.metadata import distributions

    for each in distributions():
        with suppress(ValueError):
            if (
                any(_NAME.search(each.read_text(file) or "") for file in _METADATA)
                and each.entry_points is not None
            ):
                yield each


def required_hosts(distribution: Distribution) -> Iterator[Requirement | str]:
    """Yield the requirements of a distribution that name the host; of a malformed one, the text."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in filter(_HOST_NAME.match, map(str.strip, distribution.requires or ())):
        try:
            yield Requirement(text)
        except InvalidRequirement:
            yield text


def wrong_groups(distribution: Distribution) -> list[str]:
    """Return the entry point groups that look like the host's."""
    return sorted(
        filter(_NAME.match, {entry.group for entry in distribution.entry_points} - GROUPS)
    )


def _faults_of(distribution: Distribution) -> Iterator[tuple[str, str]]:
    for each in required_hosts(distribution):
        if isinstance(each, str):
            yield "version", f"its requirement {each!r} is malformed"
        elif not each.specifier.contains(__version__, prereleases=True) and (
            each.marker is None or each.marker.evaluate({"extra": ""})
        ):
            yield (
                "version",
                f"it needs code-commit {each.specifier}, and {__version__} is installed",
            )
    for group in wrong_groups(distribution):
        meant = did_you_mean(group, [PATH_RULES_GROUP if "rule" in group else GROUP])
        yield "entry points", f"there is no group {group}{meant}"
