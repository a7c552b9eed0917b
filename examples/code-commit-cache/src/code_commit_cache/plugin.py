"""The hooks of the plugin."""

from __future__ import annotations

from typing import Any

from code_commit.plugin_api import ModelLayer, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.cache]`."""
    return "code_commit_cache.settings:CacheSettings"


@hookimpl
def code_commit_model_layers(settings: Any) -> list[ModelLayer]:
    """Return the cache, if a folder is set."""
    if settings.folder is None:
        return []
    from code_commit_cache.layer import Cache

    return [Cache(settings.folder.expanduser())]
