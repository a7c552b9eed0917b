"""A path rule: a migration that exists is never changed."""

from __future__ import annotations

from typing import Any

from code_commit.plugin_api import Change, PathRule, Refusal, Tree, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """The section `[plugins.migrations]`."""
    return "code_commit_migrations.settings:MigrationsSettings"


@hookimpl
def code_commit_path_rules(settings: Any) -> list[PathRule]:
    """One rule."""
    return [OldMigrations(settings.folder)]


class OldMigrations:
    """Sends back a change of a file that is on disk below `folder`."""

    name = "old-migrations"

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/"

    def judge(self, change: Change, tree: Tree) -> Refusal | None:
        """See `PathRule.judge`."""
        if not change.path.startswith(self._folder) or tree.read(change.path) is None:
            return None
        reason = "A migration that exists is never changed; add a new one."
        return Refusal(change.path, self.name, reason, then="repair")
