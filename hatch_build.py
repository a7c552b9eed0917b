"""Metadata of the private root: the extras of `code-commit`, as paths into this checkout.

Such a path must be absolute, so it cannot be in pyproject.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CheckoutMetadata(MetadataHookInterface):
    """Fill in `dependencies` and `optional-dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        folders = {name: (folder, pins) for name, folder, pins in _members(Path(self.root))}

        def references(requirements: Iterable[str]) -> list[str]:
            """Return references to the folders of these distributions and their dependencies: no
            index has them.
            """
            urls: dict[str, str] = {}
            waiting = list(requirements)
            while waiting:
                name = re.split(r"[^\w-]", waiting.pop(0), maxsplit=1)[0]
                if name in folders and name not in urls:
                    folder, pins = folders[name]
                    urls[name] = f"{name} @ {folder.as_uri()}"
                    waiting += pins.get("dependencies", [])
            return list(urls.values())

        extras = folders["code-commit"][1]["optional-dependencies"]
        metadata["dependencies"] = references(["code-commit"])
        metadata["optional-dependencies"] = {
            extra: references(names) for extra, names in extras.items()
        }


def _members(root: Path) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield the name and folder of each distribution, and the configuration of hatch_pins.py: the
    workspace, which depends on none of them, has no such configuration.
    """
    files = [*root.glob("*/pyproject.toml"), *root.glob("plugins/*/pyproject.toml")]
    for file in sorted(files):
        tables = tomllib.loads(file.read_text("utf-8"))
        hooks = tables["tool"]["hatch"].get("metadata", {}).get("hooks", {})
        yield tables["project"]["name"], file.parent, hooks.get("custom", {})
