"""Pushes a branch after each run that reached its goal."""

from __future__ import annotations

from typing import Any

from code_commit.plugin_api import Ending, Run, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.pull-request]`."""
    return "code_commit_pull_request.settings:PullRequestSettings"


@hookimpl
def code_commit_after_run(settings: Any, run: Run, ending: Ending) -> str | None:
    """Push the change; return a line for people."""
    if settings.remote is None or ending.outcome != "reached":
        return None
    from code_commit_pull_request.branch import push_branch

    branch = push_branch(run, settings.remote, message(ending))
    return f"pushed to {settings.remote}: {branch}" if branch else None


def message(ending: Ending) -> str:
    """Return the message of the commit: the summary, and what acceptance checks say."""
    trailers = ending.data.get("acceptance", {}).get("trailers", {})
    facts = "".join(f"{name}: {text}\n" for name, text in trailers.items())
    return f"{ending.summary}\n\n{facts}".strip()
