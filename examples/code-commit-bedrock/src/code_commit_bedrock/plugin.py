"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import ProviderDefinition, hookimpl

BEDROCK = ProviderDefinition(
    name="bedrock",
    models={"amazon.nova-pro-v1:0": ("nova-pro",)},
    base_url="",
    base_url_variable=None,
    key_variable="AWS_SECRET_ACCESS_KEY",
    config="code_commit_bedrock.config:BedrockConfig",
    factory="code_commit_bedrock.provider:BedrockProvider",
)


@hookimpl
def code_commit_providers() -> list[ProviderDefinition]:
    """Return the provider."""
    return [BEDROCK]


@hookimpl
def code_commit_secrets() -> list[str]:
    """Return the other variable with a secret: the host hides it from builds, and censors it."""
    return ["AWS_SESSION_TOKEN"]
