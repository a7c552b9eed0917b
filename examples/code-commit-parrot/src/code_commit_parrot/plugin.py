"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import ProviderDefinition, hookimpl

PARROT = ProviderDefinition(
    name="parrot",
    models={
        "parrot-large": ("parrot",),
        "parrot-small": (),
    },
    base_url="https://api.parrot.example/v1",
    base_url_variable="PARROT_BASE_URL",
    key_variable="PARROT_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_parrot.config:ParrotConfig",
    factory="code_commit_parrot.wire:ParrotWire",
)


@hookimpl
def code_commit_providers() -> list[ProviderDefinition]:
    """Return the provider."""
    return [PARROT]
