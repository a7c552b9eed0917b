"""The specifications of the hooks in `hooks`. Every start imports this module: keep it light."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # only for annotations
    from collections.abc import Iterable

    from code_commit_commit.hooks import Context, Instructions, ResponseFormat


@hookspec
def code_commit_instructions(settings: Any) -> Iterable[Instructions]:
    """Return functions for sections of the prompt, after the built-in text.

    The texts of a distribution have the label `[instructions of DISTRIBUTION]`; without a text
    there is no section. Called once per run, with the section of the implementing plugin. Each
    function is called for the initial query and for a repair, both before the first call. An error
    in this hook or in a function ends the run with exit 3 and the name of its distribution.
    """


@hookspec
def code_commit_contexts(settings: Any) -> Iterable[Context]:
    """Return contexts. Called once per run, with the section of the implementing plugin."""


@hookspec
def code_commit_formats(settings: Any) -> Iterable[ResponseFormat]:
    """Return response formats. Called once per run, with the section of the implementing plugin."""
