"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterable

from code_commit.plugin_api import ProviderDefinition, hookimpl
from code_commit_openai.models import MODELS

OPENAI = ProviderDefinition(
    name="openai",
    models={name: model.aliases for name, model in MODELS.items()},
    windows={name: model.window for name, model in MODELS.items()},
    base_url="https://api.openai.com/v1",
    base_url_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_openai.config:OpenAIConfig",
    factory="code_commit_openai.wire:OpenAIWire",
)


@hookimpl
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Return OpenAI; a config with a `base_url` reaches other servers."""
    return [OPENAI]
