"""The versions that must be the same on every machine of a cluster. Dask only warns."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

_PACKAGES = ("dask", "distributed", "cloudpickle", "code-commit", "code-commit-fleet")


def ours() -> dict[str, str]:
    """Return the versions of this process."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def differences(theirs: dict[str, str]) -> list[str]:
    """Return the differences from this process, for people."""
    return [
        f"{name} {theirs.get(name)} instead of {version}"
        for name, version in ours().items()
        if theirs.get(name) != version
    ]


def differences_of_scheduler(client: Client) -> list[str]:
    """Return the differences of the scheduler, which runs no unit: of what Dask itself needs there."""
    versions: Any = client.get_versions()
    scheduler = versions["scheduler"]
    theirs = {**scheduler["packages"], "python": ".".join(scheduler["packages"]["python"].split(".")[:2])}
    same = ours() | {name: theirs.get(name, "") for name in ("code-commit", "code-commit-fleet")}
    return differences(
        same | {name: theirs.get(name) or "missing" for name in ("python", "dask", "distributed", "cloudpickle")}
    )
