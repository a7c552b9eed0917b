"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the command `mcp`."""
    text = "serve workflows and runs to other agents"
    return [CommandDefinition("mcp", text, "code_commit_mcp.serving:serve", "code_commit_mcp.serving:arguments")]
