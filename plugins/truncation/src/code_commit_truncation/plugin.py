"""Hooks that the host loads at every start. Import nothing heavy here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import PathRule, hookimpl

if TYPE_CHECKING:
    from code_commit_truncation.settings import TruncationSettings


@hookimpl
def code_commit_settings() -> str:
    """Return the path of the settings class of `[plugins.truncation]`."""
    return "code_commit_truncation.settings:TruncationSettings"


@hookimpl
def code_commit_path_rules(settings: TruncationSettings) -> list[PathRule]:
    """Return the only rule."""
    from code_commit_truncation.rule import Truncation

    return [Truncation(settings)]
