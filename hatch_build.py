"""Metadata of the private root: the extras of `code-commit`, as paths into this checkout.

Such a path must be absolute, so it cannot be in pyproject.toml.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CheckoutMetadata(MetadataHookInterface):
    """Fill in `dependencies` and `optional-dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        folders = {
            project["name"]: (folder, project) for folder, project in _projects(Path(self.root))
        }

        def references(requirements: Iterable[str]) -> list[str]:
            """Return references to the folders of these distributions and their dependencies: no
            index has them.
            """
            urls: dict[str, str] = {}
            waiting = list(requirements)
            while waiting:
                name = re.split(r"[^\w-]", waiting.pop(0), maxsplit=1)[0]
                if name in folders and name not in urls:
                    folder, project = folders[name]
                    urls[name] = f"{name} @ {folder.as_uri()}"
                    waiting += project["dependencies"]
            return list(urls.values())

        extras = folders["code-commit"][1]["optional-dependencies"]
        metadata["dependencies"] = references(["code-commit"])
        metadata["optional-dependencies"] = {
            extra: references(names) for extra, names in extras.items()
        }


def _projects(root: Path) -> list[tuple[Path, dict[str, Any]]]:
    files = [*root.glob("*/pyproject.toml"), *root.glob("plugins/*/pyproject.toml")]
    return [
        (file.parent, tomllib.loads(file.read_text("utf-8"))["project"]) for file in sorted(files)
    ]
