"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl
from code_commit_tasks import hooks

if TYPE_CHECKING:
    import pluggy

CONTINUES = "`code-commit --resume latest` continues after the last step that passed"


@hookimpl
def code_commit_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare `code_commit_validators`."""
    pluginmanager.add_hookspecs(hooks)


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.tasks]`."""
    return "code_commit_tasks.settings:TasksSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the task agent."""
    return [
        WorkflowDefinition(
            name="task",
            help="perform a task with code that the model writes, directly or in verified steps",
            flags=(
                Flag(
                    ("--task",),
                    "describe the task",
                    metavar="TEXT",
                    selects=True,
                    for_programs=True,
                ),
                Flag(
                    ("--task-file",),
                    "read the task from a file; - is stdin",
                    metavar="FILE",
                    selects=True,
                ),
                Flag(
                    ("--resume",),
                    "continue a task that did not succeed",
                    metavar="RUN",
                    selects=True,
                    for_programs=True,
                ),
                Flag(("--no-build",), "do not run build.sh on the result"),
            ),
            run="code_commit_tasks.workflow:task",
            options="code_commit_tasks.settings:TaskOptions",
            roles=("task",),
            optional_roles=("reviewer",),
            continues=CONTINUES,
            accepts="acceptance",
        )
    ]
