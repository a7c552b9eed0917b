"""What the history plugin registers. Light, for `--help` imports it."""

from __future__ import annotations

from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """The commands about earlier runs."""
    return [
        CommandDefinition(
            "runs",
            "list, show, compare, export and prune earlier runs",
            "code_commit_history.runs.command:runs",
            "code_commit_history.runs.command:add_arguments",
        ),
        CommandDefinition(
            "replay",
            "run a recorded run again, offline, and compare",
            "code_commit_history.replay:replay",
            "code_commit_history.replay:add_arguments",
        ),
    ]
