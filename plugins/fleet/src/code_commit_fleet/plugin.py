"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the command for fleets."""
    return [
        CommandDefinition(
            name="fleet",
            help="run one change over many repositories or models",
            run="code_commit_fleet.command:fleet",
            arguments="code_commit_fleet.command:add_arguments",
        )
    ]


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.fleet]`."""
    return "code_commit_fleet.settings:FleetSettings"
