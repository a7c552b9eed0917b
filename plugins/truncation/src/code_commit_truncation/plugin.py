"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl

if TYPE_CHECKING:
    from code_commit.plugin_api import PathRule
    from code_commit_truncation.settings import TruncationSettings


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.truncation]`."""
    return "code_commit_truncation.settings:TruncationSettings"


@hookimpl
def code_commit_path_rules(settings: TruncationSettings) -> list[PathRule]:
    """Return the only rule."""
    from code_commit_truncation.rule import Truncation

    return [Truncation(settings)]
