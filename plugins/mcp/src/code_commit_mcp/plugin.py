"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import CommandDefinition, hookimpl

if TYPE_CHECKING:
    from argparse import ArgumentParser


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the command `mcp`."""
    return [
        CommandDefinition(
            name="mcp",
            help="serve workflows and runs to other agents",
            run="code_commit_mcp.serving:serve",
            arguments="code_commit_mcp.plugin:arguments",
        )
    ]


def arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `mcp`.

    Help and completion ask for them without the SDK, whose import takes a second.
    """
    parser.add_argument(
        "action", choices=["serve"], help="serve the project in this folder on stdin and stdout"
    )
    parser.epilog = "An MCP client starts it: code-commit mcp serve"
