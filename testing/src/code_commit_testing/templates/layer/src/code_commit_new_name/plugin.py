"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import Any

from code_commit.plugin_api import ModelLayer, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.settings:NewNameSettings"


@hookimpl
def code_commit_model_layers(settings: Any) -> list[ModelLayer]:
    """Return the layer, if a limit is set."""
    if settings.max_calls is None:
        return []
    from code_commit_new_name.layer import CallLimit

    return [CallLimit(settings.max_calls)]
