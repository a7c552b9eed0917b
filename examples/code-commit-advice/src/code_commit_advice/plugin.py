"""What the host reads at every start."""

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
    """One workflow, which writes nothing."""
    return [
        WorkflowDefinition(
            name="advice",
            help="say what installed plugins advise",
            flags=(Flag(("--advice",), "say what installed plugins advise", selects=True),),
            run="code_commit_advice.workflow:advise",
            roles=None,
            writes=False,
            numbered=False,
        )
    ]


@hookimpl
def code_commit_advisors() -> list[Any]:
    """The advisor of this plugin itself."""
    return [_readme]


def _readme(paths: tuple[str, ...]) -> Iterable[str]:
    if not any(path.lower().startswith("readme") for path in paths):
        yield "there is no README: say what this is, and how to run it"
