"""The hook for named validators of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # this module is imported at every start
    from collections.abc import Iterable

    from code_commit_tasks.validators import Validator


@hookspec
def code_commit_validators(settings: Any) -> Iterable[Validator]:
    """Return validators. Called when a task starts, with the plugin's own validated settings.

    Errors, and values that are not a `Validator`, are left out and reported. A name that two
    distributions claim belongs to neither; `syntax_check` always belongs to this plugin.
    """
    raise NotImplementedError
