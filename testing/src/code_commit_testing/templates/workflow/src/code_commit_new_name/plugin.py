"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.options:NewNameSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the workflow, which the flag `--new-name` selects."""
    return [
        WorkflowDefinition(
            name="new-name",
            help="summarize a file of the project",
            flags=(
                Flag(("--new-name",), "the file to summarize", metavar="PATH", selects=True),
                Flag(("--new-name-words",), "the longest summary (default 100)", metavar="N"),
            ),
            run="code_commit_new_name.workflow:run",
            options="code_commit_new_name.options:NewNameOptions",
            writes=False,
        )
    ]
