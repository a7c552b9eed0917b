"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterable

from code_commit.plugin_api import ProviderDefinition, hookimpl

ANTHROPIC = ProviderDefinition(
    name="anthropic",
    models={
        # An alias without a version names the newest model.
        "claude-sonnet-5": ("claude", "anthropic", "sonnet", "claude-sonnet", "sonnet-5"),
        "claude-opus-5": ("opus", "claude-opus", "opus-5"),
        "claude-haiku-4-5": ("haiku", "claude-haiku", "haiku-4-5", "haiku-4.5", "claude-haiku-4.5"),
        "claude-opus-4-1": ("opus-4-1", "opus-4.1", "claude-opus-4.1"),
        "claude-sonnet-4-6": ("sonnet-4-6", "sonnet-4.6", "claude-sonnet-4.6"),
        "claude-opus-4-6": ("opus-4-6", "opus-4.6", "claude-opus-4.6"),
        "claude-opus-4-7": ("opus-4-7", "opus-4.7", "claude-opus-4.7"),
        "claude-opus-4-8": ("opus-4-8", "opus-4.8", "claude-opus-4.8"),
        "claude-sonnet-4-5": ("sonnet-4-5", "sonnet-4.5", "claude-sonnet-4.5"),
        "claude-opus-4-5": ("opus-4-5", "opus-4.5", "claude-opus-4.5"),
    },
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
