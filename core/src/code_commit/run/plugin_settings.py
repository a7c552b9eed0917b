"""What the hooks of a plugin get: its section of the settings, and its secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api.errors import NotReady, UsageError
from code_commit.plugins.code import PYDANTIC, import_target

if TYPE_CHECKING:
    from code_commit.config.loading import Settings
    from code_commit.plugin_api.host import Plugin
    from code_commit.plugins.host import PluginHost
    from code_commit.plugins.registry import Registry

_Secret = Callable[[str], str | None]


def plugin_secret(registry: Registry, value_of: _Secret, plugin: Plugin) -> _Secret:
    """Return the function that gives `plugin` only the secrets that it declares."""

    def secret(name: str, /) -> str | None:
        if name not in registry.secrets.get(plugin.name, ()):
            raise NotReady(
                f"the plugin {plugin.name} of {plugin.distribution} asked for the secret {name!r}, "
                "which it does not declare",
                hint="this is a bug in its plugin: code_commit_secrets must declare it",
            )
        return value_of(name)

    return secret


def plugin_section(settings: Settings, plugin_host: PluginHost, plugin: Plugin) -> Any:
    """Return the validated section of `plugin`, or None if it has no settings."""
    return settings.plugin(plugin.name, settings_model(plugin_host, plugin))


def settings_model(plugin_host: PluginHost, plugin: Plugin) -> type[Any] | None:
    """Return the pydantic model of a plugin's section, or None for a plugin without settings."""
    for _, target in plugin_host.collect("code_commit_settings", only=plugin):
        if target:
            try:
                model: type[Any] = import_target("code_commit_settings", target, PYDANTIC)
            except UsageError as error:
                raise NotReady(
                    f"the settings of {plugin.distribution} are broken: {error}"
                ) from error
            return model
    return None
