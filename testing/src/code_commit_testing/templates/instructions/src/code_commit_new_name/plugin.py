"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from code_commit.plugin_api import NotReady, Run, hookimpl, read_text


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.settings:NewNameSettings"


@hookimpl(optionalhook=True)
def code_commit_instructions(settings: Any) -> list[Callable[[Run, str], str]]:
    """Return the function for the section."""
    return [partial(section, settings.file)]


def section(file: str, run: Run, prompt: str) -> str:
    """Return the text of the section; `prompt` is "initial" or "repair".

    An empty text makes no section.
    """
    if refusal := run.may_read(file):
        raise NotReady(f"{file} cannot be a part of the prompt: {refusal.reason}")
    return read_text(run.tree, file) or ""
