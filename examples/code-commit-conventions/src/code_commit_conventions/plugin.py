"""The hooks of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from code_commit.plugin_api import NotReady, Run, hookimpl, read_text


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.conventions]`."""
    return "code_commit_conventions.settings:ConventionsSettings"


@hookimpl(optionalhook=True)
def code_commit_instructions(settings: Any) -> list[Callable[[Run, str], str]]:
    """Return the function for the section."""
    return [partial(conventions, settings.file)]


def conventions(file: str, run: Run, prompt: str) -> str:
    """Return the conventions of the project, or an empty text if it has none."""
    if refusal := run.may_read(file):
        raise NotReady(f"{file} cannot be a part of the prompt: {refusal.reason}")
    return read_text(run.tree, file) or ""
