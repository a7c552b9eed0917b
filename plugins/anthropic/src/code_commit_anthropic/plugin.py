"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterable

from code_commit.plugin_api import ProviderDefinition, hookimpl
from code_commit_anthropic.models import MODELS

ANTHROPIC = ProviderDefinition(
    name="anthropic",
    models={name: model.aliases for name, model in MODELS.items()},
    windows={name: model.window for name, model in MODELS.items()},
    base_url="https://api.anthropic.com",
    base_url_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
    key_header=("x-api-key", "{key}"),
    config="code_commit_anthropic.config:AnthropicConfig",
    factory="code_commit_anthropic.wire:AnthropicWire",
)


@hookimpl
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Return Anthropic."""
    return [ANTHROPIC]
