"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import Any

from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import Context


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.settings:NewNameSettings"


@hookimpl(optionalhook=True)
def code_commit_contexts(settings: Any) -> list[Context]:
    """Return the context."""
    from code_commit_new_name.context import Folder

    return [Context("new-name", "the files of one folder", Folder(settings.folder).choose)]
