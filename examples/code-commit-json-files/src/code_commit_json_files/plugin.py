"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import ResponseFormat


@hookimpl(optionalhook=True)
def code_commit_formats() -> list[ResponseFormat]:
    """Return the format."""
    from code_commit_json_files.json_format import INSTRUCTIONS, parse

    return [ResponseFormat("json", "a JSON object of files", INSTRUCTIONS, parse)]
