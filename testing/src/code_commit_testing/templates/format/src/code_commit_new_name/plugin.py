"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import ResponseFormat


@hookimpl(optionalhook=True)
def code_commit_formats() -> list[ResponseFormat]:
    """Return the format."""
    from code_commit_new_name.response_format import INSTRUCTIONS, parse

    return [ResponseFormat("new-name", "text for the end of files", INSTRUCTIONS, parse)]
