"""What the host reads at every start: the definition alone, nothing heavy."""

from __future__ import annotations

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """The section `[plugins.explain]`."""
    return "code_commit_explain.options:ExplainSettings"


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """One workflow, chosen by its flag `--explain`."""
    return [
        WorkflowDefinition(
            name="explanation",
            help="explain a file of the project",
            flags=(
                Flag(("--explain",), "the file to explain", metavar="PATH", selects=True),
                Flag(("--words",), "how long the explanation may be (default 200)", metavar="N"),
            ),
            run="code_commit_explain.workflow:explain",
            options="code_commit_explain.options:ExplainOptions",
            roles=("explainer",),
            writes=False,
        )
    ]
