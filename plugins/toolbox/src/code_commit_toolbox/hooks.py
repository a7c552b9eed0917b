"""The hook for tools of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # this module is imported at every start
    from collections.abc import Iterable

    from code_commit_toolbox.tool import Tool


@hookspec
def code_commit_tools(settings: Any) -> Iterable[Tool]:
    """Return tools.

    Called when a workflow opens its toolbox, with the plugin's own validated settings.

    Errors, values that are not a `Tool`, and tools with an invalid schema are left out and
    reported. A name that two distributions claim belongs to neither; the toolbox's own names always
    belong to the toolbox.
    """
    raise NotImplementedError
