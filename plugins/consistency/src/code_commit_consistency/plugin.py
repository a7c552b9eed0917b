"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import QUERY_FLAGS, Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the consistency report, which reads the project and does not change it."""
    return [
        WorkflowDefinition(
            name="consistency-report",
            help="report contradictions between the code and its UserSpecification.md",
            flags=(
                Flag(
                    ("--consistency-check", "--consistency", "--cc"),
                    "write agent-config/consistency-report.txt; the code stays unchanged",
                    selects=True,
                    for_programs=True,
                ),
                Flag(
                    ("--samples",),
                    "number of reports to request at once, 1 to 16 (default 1)",
                    metavar="N",
                    for_programs=True,
                ),
                *QUERY_FLAGS,
                Flag(
                    ("--spec",),
                    "compare the code with this specification only",
                    metavar="PATH",
                ),
                Flag(
                    ("--fail-on",),
                    "exit with 1 if there are findings; any: in one of the first four sections",
                    metavar="FINDINGS",
                    for_programs=True,
                ),
            ),
            run="code_commit_consistency.workflow:report",
            options="code_commit_consistency.options:ConsistencyOptions",
            writes=False,
            numbered=False,
        )
    ]
