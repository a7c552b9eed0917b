"""Find the entry points of installed plugins without importing the plugins.

Entry points are read as plain files. `importlib.metadata` takes three times as long as the rest of
a start: it imports an e-mail parser and reads the metadata of every distribution.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from code_commit.plugin_api.api_version import API

GROUP = "code_commit"
PATH_RULES_GROUP = "code_commit.path_rules"
GROUPS = frozenset({GROUP, PATH_RULES_GROUP})
_ENTRY = re.compile(rb"^[ \t]*+([^=#;\[\s][^=\n]*)=\s*+([^#\s]+)", re.MULTILINE)
_FIELD = re.compile(r"^(Name|Version):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
# An unconditional requirement of the host with a lower bound, and the bound's first two numbers.
_NEEDED = re.compile(
    r"^Requires-Dist:[ \t]*"
    r"(code[-_.]+commit(?![-_.]*\w)[^;\n]*?[>~=]=[ \t]*(\d+)(?:\.(\d+))?[^;\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SECTION = re.compile(rb"^[ \t]*+\[([^\]\n]+)\][ \t\r]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class PluginSource:
    """An entry point: `value` is `"package.module"` or `"package.module:object"`.

    `newer_host` is the requirement of its distribution if that asks for a newer API than this one.
    """

    name: str
    distribution: str
    version: str
    group: str
    value: str
    newer_host: str = ""

    @property
    def guards_paths(self) -> bool:
        """Whether a writing workflow must not start without the plugin."""
        return self.group == PATH_RULES_GROUP


def discover(path: Sequence[str] | None = None) -> tuple[PluginSource, ...]:
    """Return the entry points of both groups in loading order: by name, then distribution.

    Of a distribution that is on `path` (default `sys.path`) twice, the first one counts, as for
    imports.
    """
    if path is None:
        path = sys.path
    plugin_sources: set[PluginSource] = set()
    seen: set[str] = set()
    for folder in dict.fromkeys(path):
        for distribution, version, newer_host, text in _in_folder(folder or "."):
            normal_name = re.sub(r"[-_.]+", "-", distribution).lower()
            if normal_name not in seen:
                seen.add(normal_name)
                plugin_sources.update(
                    PluginSource(name, distribution, version, group, value, newer_host)
                    for name, group, value in _entry_points(text)
                )
    return tuple(sorted(plugin_sources))


def _in_folder(folder: str) -> Iterator[tuple[str, str, str, bytes]]:
    """Yield the name and version of each distribution in `folder`, its requirement of a newer host,
    and its entry points.
    """
    try:
        names = sorted(
            entry.name
            for entry in os.scandir(folder)
            if entry.name.endswith((".dist-info", ".egg-info"))
        )
    except OSError:
        return  # it does not exist, or is a zip file, from which pydantic could not be imported
    for name in names:
        metadata_folder = f"{folder}/{name}"
        try:
            with open(f"{metadata_folder}/entry_points.txt", "rb") as file:  # noqa: PTH123 - pathlib costs
                text = file.read()
        except OSError:
            continue  # most distributions have none
        if GROUP.encode() in text:
            header = _header(metadata_folder)
            distribution, version = _name_and_version(metadata_folder, header)
            yield distribution, version, _newer_host(header), text


def _name_and_version(metadata_folder: str, header: str) -> tuple[str, str]:
    fields = dict(_FIELD.findall(header))
    folder_name = metadata_folder.rpartition("/")[2]
    name, _, version = folder_name.rpartition(".")[0].partition("-")
    return fields.get("Name", name), fields.get("Version", version)


def _header(metadata_folder: str) -> str:
    """Return the fields of the metadata without the description; empty if there is none."""
    for name in ("METADATA", "PKG-INFO"):
        path = f"{metadata_folder}/{name}"
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                return file.read().partition("\n\n")[0]
        except OSError:
            continue
    return ""


def _newer_host(header: str) -> str:
    """Return the requirement of a newer API; empty if there is none."""
    for requirement, major, minor in _NEEDED.findall(header):
        if (int(major), int(minor or 0)) > API:
            return str(requirement)
    return ""


def _entry_points(text: bytes) -> Iterable[tuple[str, str, str]]:
    """Yield the name, group and value of each entry point of the host's groups."""
    sections = _SECTION.split(text)
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        group = title.strip().decode("utf-8", "replace")
        if group not in GROUPS:
            continue
        for entry in _ENTRY.findall(body):
            name, value = (part.strip().decode("utf-8", "replace") for part in entry)
            yield name, group, value
