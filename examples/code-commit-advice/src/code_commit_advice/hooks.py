"""The hook that other plugins implement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from code_commit.plugin_api import hookspec

Advisor = Callable[[tuple[str, ...]], Iterable[str]]
"""Takes the paths of the project's files, and returns lines of advice."""


@hookspec
def code_commit_advisors(settings: Any) -> Iterable[Advisor]:
    """Return advisors. Called by `--advice`; `settings` is the implementing plugin's section."""
    raise NotImplementedError
