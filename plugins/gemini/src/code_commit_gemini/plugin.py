"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterable

from code_commit.plugin_api import ProviderDefinition, hookimpl
from code_commit_gemini.models import MODELS

GEMINI = ProviderDefinition(
    name="gemini",
    models={name: model.aliases for name, model in MODELS.items()},
    windows={name: model.window for name, model in MODELS.items()},
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
