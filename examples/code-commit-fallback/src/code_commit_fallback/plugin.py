"""The hooks of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from code_commit.plugin_api import ModelLayer, OtherModel, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.fallback]`."""
    return "code_commit_fallback.settings:FallbackSettings"


@hookimpl
def code_commit_model_layers(
    settings: Any, models: Callable[[str], OtherModel]
) -> list[ModelLayer]:
    """Return the layer, if a second model is set."""
    if settings.model is None:
        return []
    from code_commit_fallback.layer import Fallback

    return [Fallback(models(settings.model))]
