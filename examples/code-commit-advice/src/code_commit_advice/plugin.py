"""The hooks of the plugin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_addhooks(pluginmanager: Any) -> None:
    """Declare the hook, so that a misspelled implementation is an error."""
    from code_commit_advice import hooks

    pluginmanager.add_hookspecs(hooks)


@hookimpl
def code_commit_workflows() -> list[WorkflowDefinition]:
    """Return the workflow, which writes nothing."""
    return [
        WorkflowDefinition(
            name="advice",
            help="show the advice of installed plugins",
            flags=(Flag(("--advice",), "show the advice of installed plugins", selects=True),),
            run="code_commit_advice.workflow:advise",
            roles=None,
            writes=False,
            numbered=False,
        )
    ]


@hookimpl
def code_commit_advisors() -> list[Any]:
    """Return this plugin's own advisor."""
    return [_readme]


def _readme(paths: tuple[str, ...]) -> Iterable[str]:
    if not any(path.lower().startswith("readme") for path in paths):
        yield "there is no README: describe the project, and how to run it"
