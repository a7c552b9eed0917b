"""The plugin of the test tools: commands for authors of plugins."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the commands."""
    return [
        CommandDefinition(
            "plugins new",
            "create a plugin, with tests that pass",
            "code_commit_testing.scaffold:create",
            "code_commit_testing.scaffold:add_arguments",
        ),
    ]
