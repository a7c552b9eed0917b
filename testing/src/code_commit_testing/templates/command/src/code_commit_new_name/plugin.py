"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the command `code-commit new-name`."""
    return [
        CommandDefinition(
            name="new-name",
            help="list the largest files that a model may read",
            run="code_commit_new_name.command:run",
            arguments="code_commit_new_name.command:add_arguments",
        )
    ]
