"""The command line.

This package is the host's plugin: its commands, progress and JSON events are registered like those
of any plugin.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from code_commit.plugin_api import CheckDefinition, CommandDefinition, hookimpl

if TYPE_CHECKING:
    from code_commit.plugin_api import LogSink
    from code_commit.run.assembly import RunPlan


@hookimpl
def code_commit_commands() -> list[CommandDefinition]:
    """Return the commands about the host, `undo` and `redo`."""
    commands = [
        ("undo", "undo", "restore the files that a run changed"),
        ("undo", "redo", "bring back what was moved back last"),
        ("plugins", "plugins", "list the installed plugins, and what failed"),
        ("plugins_doctor", "plugins doctor", "examine every plugin more closely, for its author"),
        ("models", "models", "list the models of the installed providers"),
        ("config", "config", "print every setting and where it comes from"),
        ("doctor", "doctor", "check everything that a run needs"),
        ("completion", "completion", "print a completion script for your shell"),
    ]
    here = "code_commit.cli"
    definitions = []
    for module, name, text in commands:
        function = f"{here}.{module}:{name.replace(' ', '_')}"
        definitions.append(CommandDefinition(name, text, function, f"{function}_arguments"))
    return definitions


@hookimpl
def code_commit_checks() -> list[CheckDefinition]:
    """Return the checks of what the host needs."""
    names = "git, ignore line, settings, model, address, key, sandbox, plugins, replies, disk"
    return [
        CheckDefinition(name, f"code_commit.cli.doctor:check_{name.replace(' ', '_')}")
        for name in names.split(", ")
    ]


@hookimpl
def code_commit_log_sinks(plan: RunPlan) -> Iterator[LogSink]:
    """Yield the sinks for people and programs."""
    from code_commit.log.json_lines import JsonLines
    from code_commit.log.progress import Progress

    if "progress" in plan.shows:
        reports = plan.workflow.reports_progress and not plan.stdout_taken
        yield Progress(sys.stderr, plan.environ, workflow_reports=reports)
    if "json" in plan.shows:
        yield JsonLines(plan.stdout)
