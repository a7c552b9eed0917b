"""The hook by which any plugin adds tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # for annotations alone: this module is imported at every start
    from collections.abc import Iterable

    from code_commit_toolbox.tool import Tool


@hookspec
def code_commit_tools(settings: Any) -> Iterable[Tool]:
    """Offer tools. Called when a workflow opens its toolbox, with the offering plugin's own validated section.

    An error, something that is no `Tool`, or a schema that is none leaves out what it concerns and is reported. A name
    that two distributions claim belongs to neither; one of the toolbox's own stays its own.
    """
    raise NotImplementedError
