"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from code_commit.plugin_api import Change, PathRule, Refusal, Tree, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.settings:NewNameSettings"


@hookimpl
def code_commit_path_rules(settings: Any) -> list[PathRule]:
    """Return the rule."""
    return [SmallNewFiles(settings.max_bytes)]


class SmallNewFiles:
    """Sends back new files that are too large."""

    name = "new-name"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """Yield a refusal for each change that is not allowed. `tree` is as before the changes."""
        for change in changes:
            size = len(change.content or b"")  # None deletes the file
            if size > self._max_bytes and tree.read(change.path) is None:
                reason = f"A new file has at most {self._max_bytes} bytes; this one has {size}."
                yield Refusal(change.path, self.name, reason, then="repair")
