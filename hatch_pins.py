"""Metadata of each distribution: what it depends on, with the version of this checkout.

The distributions fit together only if they are of one version, and `__version__` of the host is the
only place that names it.
"""

from __future__ import annotations

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class PinnedMetadata(MetadataHookInterface):
    """Fill in `dependencies` and `optional-dependencies`: `{version}` is the distribution's own."""

    def update(self, metadata: dict[str, Any]) -> None:
        def pinned(requirements: list[str]) -> list[str]:
            return [text.replace("{version}", metadata["version"]) for text in requirements]

        metadata["dependencies"] = pinned(self.config["dependencies"])
        extras = self.config.get("optional-dependencies", {})
        if extras:
            metadata["optional-dependencies"] = {
                extra: pinned(requirements) for extra, requirements in extras.items()
            }
