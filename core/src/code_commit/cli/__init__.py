"""The command line.

This package is the host's plugin: its commands, progress and JSON events are registered like those of any plugin.
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
    """Return the commands about the host, and `undo`."""
    return [
        CommandDefinition("undo", "restore the files that a run changed",
                          "code_commit.cli.commands:undo", "code_commit.cli.commands:undo_arguments"),
        CommandDefinition("plugins", "list the installed plugins, and what failed",
                          "code_commit.cli.commands:plugins", "code_commit.cli.commands:plugins_arguments"),
        CommandDefinition("models", "list the models of the installed providers",
                          "code_commit.cli.commands:models", "code_commit.cli.commands:models_arguments"),
        CommandDefinition("config", "print every setting and where it comes from",
                          "code_commit.cli.commands:config", "code_commit.cli.commands:config_arguments"),
        CommandDefinition("doctor", "check everything that a run needs",
                          "code_commit.cli.doctor:doctor", "code_commit.cli.doctor:doctor_arguments"),
        CommandDefinition("completion", "print a completion script for your shell",
                          "code_commit.cli.completion:completion", "code_commit.cli.completion:completion_arguments"),
    ]  # fmt: skip


@hookimpl
def code_commit_checks() -> list[CheckDefinition]:
    """Return the checks of what the host needs."""
    names = "git, ignore line, settings, model, address, key, sandbox, plugins".split(", ")  # noqa: SIM905 - like a command line
    return [CheckDefinition(name, f"code_commit.cli.doctor:check_{name.replace(' ', '_')}") for name in names]


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
