"""The hooks of the plugin."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the command `code-commit todo`."""
    return [
        CommandDefinition(
            name="todo",
            help="list the TODO comments of the project",
            run="code_commit_todo.command:todo",
            arguments="code_commit_todo.command:add_arguments",
        )
    ]
