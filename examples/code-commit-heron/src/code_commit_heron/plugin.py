"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from code_commit.plugin_api import ProviderDefinition, hookimpl

HERON = ProviderDefinition(
    name="heron",
    models={"heron-1": ()},
    base_url="https://api.heron.example",
    base_url_variable="HERON_BASE_URL",
    key_variable="HERON_CLIENT_SECRET",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_heron.wire:HeronConfig",
    factory="code_commit_heron.wire:HeronWire",
)


@hookimpl
def code_commit_providers() -> list[ProviderDefinition]:
    """Return the provider."""
    return [HERON]
