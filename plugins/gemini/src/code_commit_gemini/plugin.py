"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterable

from code_commit.plugin_api import ProviderDefinition, hookimpl

GEMINI = ProviderDefinition(
    name="gemini",
    models={
        # An alias without a version names the newest model; `gemini` and `gemini-pro` name the required default.
        "gemini-2.5-pro": ("gemini", "gemini-pro", "gemini-2.5", "gemini2.5-pro"),
        "gemini-2.5-flash": ("gemini2.5-flash",),
        "gemini-2.5-flash-lite": ("gemini-flash-lite", "flash-lite"),
        "gemini-3.1-pro-preview": ("gemini-3.1-pro", "gemini-3-pro", "gemini-3"),
        "gemini-3.5-flash": (),
        "gemini-3.8-flash": ("gemini-flash", "flash", "gemini-3-flash"),
        "gemini-4-argon": ("gemini-4",),
    },
    base_url="https://generativelanguage.googleapis.com",
    base_url_variable="GOOGLE_GEMINI_BASE_URL",
    key_variable="GEMINI_API_KEY",
    key_header=("x-goog-api-key", "{key}"),
    config="code_commit_gemini.config:GeminiConfig",
    factory="code_commit_gemini.wire:GeminiWire",
)


@hookimpl
def code_commit_providers() -> Iterable[ProviderDefinition]:
    """Return Gemini, with a key for the Gemini API."""
    return [GEMINI]
