"""The `[providers]` table: roles beside the named configs of each provider (seed 003, "Change the toplevel config")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_commit.config.sources import Source
from code_commit.plugin_api.errors import NotReady
from code_commit.spelling import did_you_mean

EXAMPLE = """\
[providers]
default_provider = "gemini.default"   # "<provider>.<config name>"
planner = "anthropic.planner"         # a role of its own

[providers.gemini.default]
model = "gemini-2.5-pro"

[providers.anthropic.planner]
model = "claude-opus-4-5"
api_key_file = "anthropic-key.txt"    # beside this file"""
_HINT = f"name the config of each provider, for example:\n{EXAMPLE}"


def require_named_configs(source: Source) -> None:
    """Return when `[providers]` holds roles, which are texts, and tables of tables; values are never shown.

    Raises:
        NotReady: something else stands there, for instance the old form with a provider's fields right below it.
    """
    providers = source.tables.get("providers", {})
    if not isinstance(providers, Mapping):
        raise NotReady(f"{source.origin(('providers',))}: providers should be a table", hint=_HINT)
    for name, value in providers.items():
        origin = source.origin(("providers", name))
        if isinstance(value, Mapping):
            for field, config in value.items():
                if not isinstance(config, Mapping):
                    origin = source.origin(("providers", name, field))
                    raise NotReady(
                        f"{origin}: [providers.{name}] holds {field} itself, the old form of a config", hint=_HINT
                    )
        elif not isinstance(value, str):
            raise NotReady(
                f"{origin}: providers.{name} should be a role's config, a text, or a provider's table", hint=_HINT
            )


def unresolved(reference: str, providers: Mapping[str, Any]) -> str | None:
    """Return why `reference`, `<provider>.<config name>`, names no config, or None. `default` needs no table."""
    provider, dot, config = reference.partition(".")
    if not (provider and dot and config):
        return "is not of the form <provider>.<config name>"
    configs = providers.get(provider, {})
    if config == "default" and isinstance(configs, Mapping):
        return None
    if not isinstance(configs, Mapping) or config not in configs:
        known = [f"{name}.{one}" for name, value in providers.items() if isinstance(value, Mapping) for one in value]
        return f"names no config, for there is no [providers.{provider}.{config}]" + did_you_mean(reference, known)
    return None


def require_resolved(role: str, reference: str, origin: str, providers: Mapping[str, Any]) -> None:
    """Return when the config that a role names exists.

    Raises:
        NotReady: it does not; the hint ends with an example.
    """
    reason = unresolved(reference, providers)
    if reason is not None:
        raise NotReady(f'{origin}: {role} = "{reference}" {reason}', hint=_HINT)
