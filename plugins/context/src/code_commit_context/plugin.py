"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl

if TYPE_CHECKING:
    from code_commit_commit.hooks import Context


@hookimpl(optionalhook=True)
def code_commit_contexts() -> list[Context]:
    """Return the contexts `ranked` and `map`."""
    from code_commit_context.contexts import contexts

    return contexts()
