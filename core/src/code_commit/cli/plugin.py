"""The host's own plugin: its commands, registered like anybody's."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl

_COMMANDS = {
    "undo": "take back what a run changed",
    "plugins": "list plugins: what is loaded, what failed and why",
    "models": "list the models that --model knows",
    "config": "print every setting and where it comes from",
    "completion": "print a script that completes the command line",
}


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """The commands about the host itself, and `undo`, which works without any plugin."""
    modules = {"completion": "completion"}
    return [
        CommandDefinition(
            name,
            help_line,
            f"code_commit.cli.{modules.get(name, 'commands')}:{name}",
            f"code_commit.cli.{modules.get(name, 'commands')}:{name}_arguments",
        )
        for name, help_line in _COMMANDS.items()
    ]
