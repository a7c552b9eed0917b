"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl
from code_commit_toolbox import hooks

if TYPE_CHECKING:
    import pluggy

    from code_commit.plugin_api import CheckDefinition


@hookimpl
def code_commit_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare `code_commit_tools`."""
    pluginmanager.add_hookspecs(hooks)


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.toolbox]`."""
    return "code_commit_toolbox.settings:ToolboxSettings"


@hookimpl
def code_commit_checks() -> list[CheckDefinition]:
    """Offer the check of MCP servers."""
    from code_commit.plugin_api import CheckDefinition

    return [CheckDefinition("mcp", "code_commit_toolbox.checks:check_mcp_servers")]
