"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from code_commit.plugin_api import hookimpl

if TYPE_CHECKING:
    from code_commit.plugin_api import LogSink
    from code_commit_report.settings import ReportSettings


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.html]`."""
    return "code_commit_report.settings:ReportSettings"


@hookimpl
def code_commit_log_sinks(settings: ReportSettings) -> list[LogSink]:
    """Return the only sink."""
    from code_commit_report.sink import HtmlReport

    return [HtmlReport(settings)]
