"""The page of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
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

from code_commit.plugin_api import LARGEST_DIFF, RunTexts, count_of, duration
from code_commit_report.build_output import OutputLine, read_output
from code_commit_report.coloring import Colors
from code_commit_report.contents import Contents
from code_commit_report.diff_view import FILES, FileDiff, file_diffs
from code_commit_report.formats import bill, count, local, money, tone
from code_commit_report.frame import END, Heading, begin
from code_commit_report.run_view import RunView
from code_commit_report.text import Shown, read_prompt, read_shown, visible
from code_commit_report.timeline import Bar, bars, ticks
from code_commit_report.views import CallView, ChangeView, ProcessView

_WHOLE_DIFF = "all-changes.diff"  # the host writes it
RELOAD_SECONDS = 5  # for the page of a running run


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
        return read_output(self.folder, process.log, self.limit, passed=process.passed)

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
    changes: str = "",
    index: bool = True,
    running: bool = False,
) -> str:
    """Return the page as one HTML file, without external resources or scripts.

    `changes` says what became of the changes, as `describe_changes` does. With `index`, the page
    links to the list of all runs. With `running`, it reloads itself.
    """
    texts = Texts(folder, limit, view.calls)
    timeline: list[Bar] = bars(view)
    state = view.outcome or ("running" if running else "killed")
    head = Markup()
    notes = []
    if running and not view.ended:
        head = Markup('<meta http-equiv="refresh" content="{}">').format(RELOAD_SECONDS)
        notes.append(f"The run is not finished; this page reloads every {RELOAD_SECONDS} seconds.")
    body = render(
        "report.html.jinja",
        view=view,
        header=_heading(view, state, changes, notes).markup(index=index),
        texts=texts,
        whole=texts.whole(),
        most=FILES,
        bars=timeline,
        ticks=ticks(view.seconds),
    )
    return begin(f"{state}: {view.run}", head) + body + END


def _heading(view: RunView, state: str, changes: str, notes: Sequence[str]) -> Heading:
    usd, complete = view.cost
    tokens_in, tokens_out = view.tokens
    return Heading(
        run=view.run,
        state=state,
        query=view.query,
        summary=view.summary,
        exit_code=view.exit_code,
        changes=changes,
        command=view.command,
        figures=[
            ("Workflow", view.workflow),
            ("Started", local(view.started)),
            ("Took", duration(view.seconds)),
            ("Model calls", count(len(view.calls))),
            ("Tokens in / out", f"{count(tokens_in)} / {count(tokens_out)}"),
            ("Cost", bill(usd, complete=complete)),
            ("Commit before", view.commit[:12] or "none"),
            *view.trailers.items(),
        ],
        notes=notes,
    )


def render(template: str, **values: Any) -> str:
    """Render a template. Everything in `values` is escaped, and invisible characters are shown."""
    page: str = _environment().get_template(template).render(**values)
    return page


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
