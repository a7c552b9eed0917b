"""The hook of the plugin. Every start imports this module: keep it light."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl

if TYPE_CHECKING:
    from code_commit_commit.hooks import ResponseFormat


@hookimpl(optionalhook=True)
def code_commit_formats() -> list[ResponseFormat]:
    """Return the format `edits` of the commit workflow."""
    from code_commit_edits.response_format import edits_format

    return [edits_format()]
