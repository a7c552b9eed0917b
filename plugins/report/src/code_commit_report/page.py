"""The page of one run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemBytecodeCache,
    PackageLoader,
    StrictUndefined,
)
from markupsafe import Markup

from code_commit.plugin_api import LARGEST_DIFF, RunTexts, Usage, cost_of, count_of, duration
from code_commit_report.build_output import OutputLine, read_output
from code_commit_report.coloring import Colors
from code_commit_report.contents import Contents
from code_commit_report.diff_view import FILES, FileDiff, file_diffs
from code_commit_report.run_view import RunView
from code_commit_report.text import Shown, read_prompt, read_shown, visible
from code_commit_report.timeline import Bar, bars, ticks
from code_commit_report.views import CallView, ChangeView, ProcessView

_WHOLE_DIFF = "all-changes.diff"  # the host writes it
RELOAD_SECONDS = 5  # for the page of a running run
GOOD = frozenset({"reached"})


@dataclass(frozen=True)
class Texts:
    """Reads the files of a run for its page."""

    folder: Path
    limit: int
    calls: Sequence[CallView]
    colors: Colors = field(default_factory=Colors)

    def prompt(self, call: CallView) -> Shown | None:
        """Return the prompt, without the parts that the previous prompt also has."""
        earlier = [before.request for before in self.calls if before.number < call.number]
        return read_prompt(self._texts, call.request, self.limit, *earlier[-1:])

    def response(self, call: CallView) -> Shown | None:
        """Return the response; for a failed call, the part that arrived."""
        shown = read_shown(self.folder, call.response, self.limit)
        if shown is None or not call.error:
            return shown
        shown = replace(shown, head=shown.head.removeprefix(f"ERROR\n{call.error}\n"))
        return shown if shown.text else None

    def output(self, process: ProcessView) -> list[OutputLine]:
        """Return the output of a build, with errors marked."""
        return read_output(self.folder, process.log, self.limit)

    def diffs(self, change: ChangeView) -> list[FileDiff]:
        """Return the diffs of a change, one per file."""
        return self._diffs(change.diff)

    def whole(self) -> list[FileDiff]:
        """Return the diffs of the whole run, one per file."""
        return self._diffs(_WHOLE_DIFF)

    def _diffs(self, name: str | None) -> list[FileDiff]:
        shown = read_shown(self.folder, name, LARGEST_DIFF)
        if shown is None:
            return []
        return file_diffs(shown.text, self._contents, self.colors)

    @cached_property
    def _texts(self) -> RunTexts:
        return RunTexts(self.folder)

    @cached_property
    def _contents(self) -> Contents:
        return Contents(self.folder, [call.response for call in self.calls])


def report_page(
    view: RunView,
    folder: Path,
    limit: int,
    *,
    index: bool = True,
    running: bool = False,
) -> str:
    """Return the page as one HTML file, without external resources or scripts.

    With `index`, it links to the list of all runs. With `running`, the page reloads itself.
    """
    texts = Texts(folder, limit, view.calls)
    timeline: list[Bar] = bars(view)
    return render(
        "report.html.jinja",
        view=view,
        state=view.outcome or ("running" if running else "killed"),
        texts=texts,
        whole=texts.whole(),
        most=FILES,
        bars=timeline,
        ticks=ticks(view.seconds),
        index=index,
        reload_seconds=RELOAD_SECONDS if running and not view.ended else 0,
    )


def warm_up() -> None:
    """Load the templates, style and price list in advance."""
    style_sheet()
    _environment().get_template("report.html.jinja")
    cost_of("", Usage(0, 0))


def render(template: str, **values: Any) -> str:
    """Render a template. Everything in `values` is escaped, and invisible characters are shown."""
    style = style_sheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page: str = (
        _environment()
        .get_template(template)
        .render(
            style=Markup(style),  # noqa: S704 - our own file
            style_hash=f"sha256-{digest}",
            **values,
        )
    )
    return page


@cache
def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return (files("code_commit_report") / "templates" / "style.css").read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("code_commit_report"),
        bytecode_cache=_compiled(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    environment.filters |= {
        "duration": duration,
        "money": money,
        "count": count,
        "count_of": count_of,
        "local": local,
        "tone": tone,
    }
    return environment


def _compiled() -> BytecodeCache | None:
    """Return a cache of compiled templates, which halves the render time.

    Only this account can write its folder.
    """
    try:
        return FileSystemBytecodeCache()
    except (OSError, RuntimeError):
        return None  # there is no temporary folder


def money(cost: float | None) -> str:
    """Format USD; `?` if unknown."""
    return "?" if cost is None else f"${cost:.4f}"


def count(number: int | None) -> str:
    """Format a number with thousands separators; `?` if unknown."""
    return "?" if number is None else f"{number:,}"


def local(at: float) -> str:
    """Format a time as local time."""
    if not at:
        return "?"
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def tone(outcome: str) -> str:
    """Return the CSS class of an outcome's badge."""
    if outcome in GOOD:
        return "good"
    return "open" if outcome in {"", "running"} else "bad"
