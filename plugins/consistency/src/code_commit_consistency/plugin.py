"""Definitions that the host loads at every start. Import nothing heavy here."""

from __future__ import annotations

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the consistency report, which reads the project and does not change it."""
    return [
        WorkflowDefinition(
            name="consistency-report",
            help="report where the code and its UserSpecification.md contradict each other or themselves",
            flags=(
                Flag(
                    ("--consistency-check", "--consistency", "--cc"),
                    "write agent-config/consistency-report.txt; the code is left as it is",
                    selects=True,
                ),
                Flag(("--samples",), "reports to ask for at once, 1 to 16 (default 1)", metavar="N"),
            ),
            run="code_commit_consistency.workflow:report",
            options="code_commit_consistency.options:ConsistencyOptions",
            writes=False,
            numbered=False,
        )
    ]
