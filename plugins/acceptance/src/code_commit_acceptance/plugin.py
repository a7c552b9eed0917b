"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl

if TYPE_CHECKING:
    from code_commit.plugin_api import AcceptanceCheck
    from code_commit_acceptance.settings import AcceptanceSettings


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.acceptance]`."""
    return "code_commit_acceptance.settings:AcceptanceSettings"


@hookimpl
def code_commit_acceptance(settings: AcceptanceSettings) -> list[AcceptanceCheck]:
    """Return the checks, those that cost least first."""
    from code_commit.plugin_api import AcceptanceCheck
    from code_commit_acceptance.checks import Checks

    checks = Checks(settings)
    reviewers = ("reviewer",) if settings.review else ()
    return [
        AcceptanceCheck("signals", checks.judge_signals),
        AcceptanceCheck("tests-of-before", checks.judge_by_tests_of_before),
        AcceptanceCheck("review", checks.judge_by_review, roles=reviewers),
    ]
