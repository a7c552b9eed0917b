"""Metadata of the private root: the host, and one extra per plugin folder, as paths into this checkout.

A path must be absolute to be valid, so it cannot stand in pyproject.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class WorkspaceExtras(MetadataHookInterface):
    """Fills in `dependencies` and `optional-dependencies`; a new plugin folder needs no change here."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        metadata["dependencies"] = [_reference(root / "workspace"), _reference(root / "core")]
        folders = sorted(path.parent for path in root.glob("plugins/*/pyproject.toml"))
        extras = {folder.name: [_reference(folder)] for folder in folders}
        metadata["optional-dependencies"] = {
            **extras,
            "all": [reference for references in extras.values() for reference in references],
        }


def _reference(folder: Path) -> str:
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return f"{project['name']} @ {folder.as_uri()}"
