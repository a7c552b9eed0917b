"""Hooks and definitions that the host loads at every start. Import nothing heavy here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl
from code_commit_tasks import hooks

if TYPE_CHECKING:
    import pluggy


@hookimpl
def code_commit_addhooks(pluginmanager: pluggy.PluginManager) -> None:
    """Declare `code_commit_validators`."""
    pluginmanager.add_hookspecs(hooks)


@hookimpl
def code_commit_settings() -> str:
    """Return the path of the settings class of `[plugins.tasks]`."""
    return "code_commit_tasks.settings:TasksSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the task agent."""
    return [
        WorkflowDefinition(
            name="task",
            help="do a task by code that the model writes, at once or in steps that are verified one by one",
            flags=(
                Flag(("--task",), "what is to be done", metavar="TEXT", selects=True),
                Flag(("--task-file",), "a file that says what is to be done; - is stdin", metavar="FILE", selects=True),
                Flag(("--resume",), "go on with a task that did not end well", metavar="RUN", selects=True),
                Flag(("--no-build",), "do not let build.sh judge the result"),
            ),
            run="code_commit_tasks.workflow:task",
            options="code_commit_tasks.settings:TaskOptions",
            roles=("task",),
        )
    ]
