"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import ProviderDefinition, hookimpl

PROVIDER = ProviderDefinition(
    name="new-name",
    models={  # the ids of the service, with their aliases
        "new-name-large": ("new-name",),
        "new-name-small": (),
    },
    base_url="https://api.example.com/v1",
    base_url_variable="NEW_NAME_BASE_URL",
    key_variable="NEW_NAME_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_new_name.config:NewNameConfig",
    factory="code_commit_new_name.wire:NewNameWire",
)


@hookimpl
def code_commit_providers() -> list[ProviderDefinition]:
    """Return the provider."""
    return [PROVIDER]
