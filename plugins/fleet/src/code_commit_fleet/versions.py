"""Compare the versions that must be the same on every machine of a cluster. Dask only warns."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distributed import Client

_SCHEDULER = ("python", "dask", "distributed", "cloudpickle")
_PACKAGES = ("dask", "distributed", "cloudpickle", "code-commit", "code-commit-fleet")


def ours() -> dict[str, str]:
    """Return the versions of this process."""
    versions = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


def differences(
    theirs: Mapping[str, str], names: Collection[str] = ("python", *_PACKAGES)
) -> list[str]:
    """Return the differences from this process, for people."""
    mine = ours()
    return [
        f"{name} {theirs.get(name) or 'is missing'} instead of {mine[name]}"
        for name in names
        if theirs.get(name) != mine[name]
    ]


def differences_of_scheduler(client: Client) -> list[str]:
    """Return the scheduler's differences from this process.

    It runs no units, so it needs no code-commit.
    """
    answer: Any = client.get_versions()
    packages = answer["scheduler"]["packages"]
    theirs = {name: str(packages.get(name)) for name in _SCHEDULER}
    theirs["python"] = ".".join(theirs["python"].split(".")[:2])
    return differences(theirs, _SCHEDULER)
