"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.explain]`."""
    return "code_commit_explain.options:ExplainSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the workflow, which the flag `--explain` selects."""
    return [
        WorkflowDefinition(
            name="explanation",
            help="explain a file of the project",
            flags=(
                Flag(("--explain",), "the file to explain", metavar="PATH", selects=True),
                Flag(("--words",), "maximum length of the explanation (default 200)", metavar="N"),
            ),
            run="code_commit_explain.workflow:explain",
            options="code_commit_explain.options:ExplainOptions",
            roles=("explainer",),
            writes=False,
        )
    ]
