"""The hook by which any plugin adds named validators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import hookspec

if TYPE_CHECKING:  # for annotations alone: this module is imported at every start
    from collections.abc import Iterable

    from code_commit_tasks.validators import Validator


@hookspec
def code_commit_validators(settings: Any) -> Iterable[Validator]:
    """Offer validators. Called when a task starts, with the offering plugin's own validated section.

    An error, or something that is no `Validator`, leaves out what it concerns and is reported. A name that two
    distributions claim belongs to neither; `syntax_check` stays this plugin's own.
    """
    raise NotImplementedError
