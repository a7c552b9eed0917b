"""The hooks of the plugin."""

from __future__ import annotations

from functools import partial
from typing import Any

from code_commit.plugin_api import AcceptanceCheck, Run, Submission, Verdict, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.changelog]`."""
    return "code_commit_changelog.settings:ChangelogSettings"


@hookimpl
def code_commit_acceptance(settings: Any) -> list[AcceptanceCheck]:
    """Return the check."""
    return [AcceptanceCheck("changelog", partial(require_news, settings.folder))]


def require_news(folder: str, run: Run, submission: Submission) -> Verdict:
    """Refuse a change of files in `src` without a new file in `folder`."""
    written = [change.path for change in submission.changes if change.content is not None]
    changes_source = any(change.path.startswith("src/") for change in submission.changes)
    news = [path for path in written if path.startswith(f"{folder}/")]
    if changes_source and not news:
        return Verdict(False, f"Add a file to {folder}/ that describes the change for users.")
    return Verdict(True, trailers={"News": ", ".join(news) or "none"})
