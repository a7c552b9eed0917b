"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterable

from code_commit.plugin_api import ProviderDefinition, hookimpl

OPENAI = ProviderDefinition(
    name="openai",
    models={
        # `gpt` and `openai` name the model that the requirements ask for, not the newest.
        "gpt-5": ("gpt5", "gpt", "openai"),
        "gpt-5-mini": ("gpt5-mini", "gpt-mini"),
        "gpt-5-nano": ("gpt5-nano", "gpt-nano"),
        "gpt-5.1": ("gpt5.1",),
        "gpt-5.2": ("gpt5.2",),
        "gpt-5.4": ("gpt5.4",),
        "gpt-5.5": ("gpt5.5",),
        "gpt-4.1": ("gpt4.1",),
        "gpt-4.1-mini": ("gpt4.1-mini",),
        "gpt-4o": ("gpt4o",),
        "gpt-4o-mini": ("gpt4o-mini",),
        "o3": (),
        "o4-mini": (),
    },
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
