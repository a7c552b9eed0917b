"""The host's plugin: its commands, progress and JSON events, registered like those of any plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from code_commit.plugin_api import CommandDefinition, hookimpl

if TYPE_CHECKING:
    from code_commit.plugin_api import LogSink
    from code_commit.run.assembly import Plan

_COMMANDS = {
    "undo": "take back what a run changed",
    "plugins": "list plugins: what is loaded, what failed and why",
    "models": "list the models that --model knows",
    "config": "print every setting and where it comes from",
    "completion": "print a script that completes the command line",
}


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the commands about the host, and `undo`."""
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


@hookimpl
def code_commit_log_sinks(settings: Plan) -> Iterator[LogSink]:
    """Yield the sinks for people and programs. `settings` is the plan of the run: the host has no section."""
    from code_commit.log import Progress
    from code_commit.log.event_file import JsonLines

    plan = settings
    if "progress" in plan.shows:
        reports = plan.workflow.reports_progress and not plan.as_json
        yield Progress.on(sys.stderr, plan.environ, workflow_reports=reports)
    if "json" in plan.shows:
        yield JsonLines(plan.stdout)
