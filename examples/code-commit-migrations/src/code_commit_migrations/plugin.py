"""A path rule that keeps existing migrations unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from code_commit.plugin_api import Change, PathRule, Refusal, Tree, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.migrations]`."""
    return "code_commit_migrations.settings:MigrationsSettings"


@hookimpl
def code_commit_path_rules(settings: Any) -> list[PathRule]:
    """Return the rule."""
    return [OldMigrations(settings.folder)]


class OldMigrations:
    """Sends back changes of existing files in `folder`."""

    name = "old-migrations"

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/"

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """See `PathRule.judge`."""
        for change in changes:
            if change.path.startswith(self._folder) and tree.read(change.path) is not None:
                reason = "Do not change an existing migration; add a new one."
                yield Refusal(change.path, self.name, reason, then="repair")
