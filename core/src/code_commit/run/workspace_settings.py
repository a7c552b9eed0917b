"""The settings with which the host opens a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.config.sources import PREFIX
from code_commit_workspace import SandboxSettings, StoreLimits

if TYPE_CHECKING:
    from code_commit.config.keys import KeyStore
    from code_commit.config.loading import Settings


def store_limits(settings: Settings) -> StoreLimits:
    """Return how much the store keeps."""
    return StoreLimits(settings.store.max_file, settings.store.max_total)


def sandbox_settings(
    settings: Settings,
    keys: KeyStore,
    variables: frozenset[str],
) -> SandboxSettings:
    """Return the sandbox of a project's processes. `variables` hold keys and plugins' secrets."""
    return SandboxSettings(
        mode=settings.sandbox.mode,
        network=settings.sandbox.network,
        hidden=keys.files_elsewhere(),
        read_only=("logs",),
        writable=tuple(settings.sandbox.writable),
        readable=tuple(settings.sandbox.readable),
        secret_variables=variables | keys.variables_with_keys(),
        secret_prefixes=(PREFIX,),
        output_limit=settings.build.output_limit,
    )
