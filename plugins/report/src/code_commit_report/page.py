"""The page of one run."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup

from code_commit.plugin_api import Usage, cost_of
from code_commit_report.diff_view import FileDiff, file_diffs
from code_commit_report.run_view import CallView, ChangeView, ProcessView, RunView
from code_commit_report.text import OutputLine, Shown, read_output, read_shown, visible
from code_commit_report.timeline import Bar, bars, ticks

_LARGEST_DIFF = 8 * 1024 * 1024  # bytes
RENEWED = 5  # seconds after which the page of a run that goes on loads itself anew
GOOD = frozenset({"reached"})


@dataclass(frozen=True, slots=True)
class Texts:
    """Reads the files of a run for its page."""

    folder: Path
    limit: int

    def prompt(self, call: CallView) -> Shown | None:
        """What was asked."""
        return read_shown(self.folder, call.request, self.limit)

    def response(self, call: CallView) -> Shown | None:
        """What was answered."""
        return read_shown(self.folder, call.response, self.limit)

    def output(self, process: ProcessView) -> list[OutputLine]:
        """What a build said, its errors marked."""
        return read_output(self.folder, process.log, self.limit)

    def diffs(self, change: ChangeView) -> list[FileDiff]:
        """What a change did, file by file."""
        shown = read_shown(self.folder, change.diff, _LARGEST_DIFF)
        return file_diffs(shown.text) if shown else []


def report_page(view: RunView, folder: Path, limit: int, *, index: bool = True, going_on: bool = False) -> str:
    """Return the page as text: one file, no outside resources, no script.

    `index`: whether there is a list of all runs to link to. A page of a run that is `going_on` loads itself anew.
    """
    timeline: list[Bar] = bars(view)
    return render(
        "report.html.jinja",
        view=view,
        state=view.outcome or ("running" if going_on else "killed"),
        texts=Texts(folder, limit),
        bars=timeline,
        ticks=ticks(view.seconds),
        index=index,
        renewed=RENEWED if going_on and not view.ended else 0,
    )


def warm_up() -> None:
    """Load templates, style and price list."""
    style_sheet()
    _environment().get_template("report.html.jinja")
    cost_of("", Usage(0, 0))


def render(template: str, **values: Any) -> str:
    """Fill a template. Everything in `values` is escaped, and shows what would not be seen."""
    style = style_sheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    ours = {"style": Markup(style), "style_hash": f"sha256-{digest}"}  # noqa: S704 - our own file
    text: str = _environment().get_template(template).render(**ours, **values)
    return text


@cache
def style_sheet() -> str:
    """Return the style of all pages."""
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
    environment.filters |= {"duration": duration, "money": money, "count": count, "local": local, "tone": tone}
    return environment


def _compiled() -> BytecodeCache | None:
    """Return where compiled templates are kept, in a folder that this account alone may write: half of the work."""
    try:
        return FileSystemBytecodeCache()
    except (OSError, RuntimeError):
        return None  # no folder for temporary files


def duration(seconds: float | None) -> str:
    """`40 ms`, `4.2 s`, `3:05`, `1:02:03`."""
    if seconds is None:
        return "?"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def money(cost: float | None) -> str:
    """USD; `?` when nobody knows."""
    return "?" if cost is None else f"${cost:.4f}"


def count(number: int | None) -> str:
    """A number with its thousands; `?` when it was not told."""
    return "?" if number is None else f"{number:,}"


def local(at: float) -> str:
    """A moment, in local time."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z") if at else "?"


def tone(outcome: str) -> str:
    """The class of an outcome's badge."""
    return "good" if outcome in GOOD else "open" if outcome in {"", "running"} else "bad"
