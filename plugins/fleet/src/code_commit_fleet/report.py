"""`fleet report`: one HTML file without scripts, with the outcome of each repository and model."""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from code_commit.plugin_api import ExitCode, Host, duration, printable
from code_commit_fleet.comparison import Interval, Sample, price_of_success, success_rate
from code_commit_fleet.fleet_folder import REACHED, SKIPPED, FleetFolder, Tried, latest
from code_commit_fleet.plan import Plan, Unit
from code_commit_fleet.status import folder_of
from code_commit_fleet.worker_keys import worker_redactor

FILE = "report.html"
WAITING = "waiting"
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
_PLACE = re.compile(r"(/[\w.@+-]+){2,}/")  # each unit has its own folder
_MOST_UNITS = 20  # to list for one cause
_LONGEST_CAUSE = 300  # characters


@dataclass(frozen=True, slots=True)
class UnitView:
    """A unit with its last try; `link` is its report or folder, relative to the page, or ""."""

    unit: Unit
    outcome: str
    tries: int
    attempts: int
    seconds: float
    cost: float | None
    error: str
    link: str
    exit_code: int | None

    @property
    def tone(self) -> str:
        """How the outcome looks: "good", "bad" or "open"."""
        if self.outcome == REACHED:
            return "good"
        return "open" if self.outcome in {WAITING, SKIPPED} else "bad"

    @property
    def is_finished(self) -> bool:
        """Whether it counts in the comparison of models."""
        return self.tone != "open"


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar: its outcome, tone and count; `start` and `width` are percent."""

    outcome: str
    tone: str
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model with all its units. Costs are in USD, None if one is unknown."""

    name: str
    units: Sequence[UnitView]
    bars: Sequence[Bar]
    finished: int
    reached: int
    rate: Interval | None
    price: Interval | None
    cost: float | None
    seconds: float
    attempts: float


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures with the same first error line, except for numbers and folders."""

    text: str
    units: Sequence[UnitView]

    @property
    def left_out(self) -> int:
        """The number of units that the page does not list."""
        return max(0, len(self.units) - _MOST_UNITS)

    @property
    def named(self) -> Sequence[UnitView]:
        """The units that the page lists."""
        return self.units[:_MOST_UNITS]


@dataclass(frozen=True, slots=True)
class FleetView:
    """Everything that the page shows."""

    name: str
    units: Sequence[UnitView]
    models: Sequence[ModelView]
    causes: Sequence[Cause]
    cost: float
    cost_is_known: bool
    pilot: int
    rows: Sequence[tuple[str, Sequence[UnitView | None]]] = field(default=())

    @property
    def outcomes(self) -> Counter[str]:
        """The number of units by outcome."""
        return Counter(each.outcome for each in self.units)


def report(host: Host, arguments: argparse.Namespace) -> int:
    """Write the page, and print its path.

    Raises:
        NotReady: the fleet has not been run.
    """
    folder = folder_of(host, arguments.file)
    write_page(folder, host)
    host.out.line(str(folder.path / FILE))
    return ExitCode.REACHED


def write_page(folder: FleetFolder, host: Host) -> None:
    """Write the page about a fleet into its folder, without keys of this machine.

    Raises:
        NotReady: the fleet has not been run.
    """
    text = page(view_of(folder, folder.plan(), folder.tries()))
    folder.write(FILE, worker_redactor().text(host.redactor.text(text)))


def view_of(folder: FleetFolder, plan: Plan, tries: Sequence[Tried]) -> FleetView:
    """Return the view of a fleet; one pass over its tries."""
    last = latest(list(tries))
    costs: dict[str, float | None] = {}
    counts: Counter[str] = Counter()
    for each in tries:
        counts[each.unit] += 1
        before = costs.get(each.unit, 0.0)
        costs[each.unit] = None if before is None or each.cost is None else before + each.cost
    units = [
        _unit_view(folder, unit, last.get(unit.unit), counts[unit.unit], costs.get(unit.unit, 0.0))
        for unit in plan.units
    ]
    names = list(dict.fromkeys(unit.model for unit in plan.units))
    by_place = {(each.unit.repository, each.unit.model): each for each in units}
    repositories = dict.fromkeys(unit.repository for unit in plan.units)
    rows = [(name, [by_place.get((name, model)) for model in names]) for name in repositories]
    known = [each.cost for each in tries if each.cost is not None]
    models = [
        _model_view(name, [each for each in units if each.unit.model == name]) for name in names
    ]
    return FleetView(
        folder.file.stem,
        units,
        models,
        _causes(units),
        sum(known),
        len(known) == len(tries),
        plan.pilot,
        rows,
    )


def _unit_view(
    folder: FleetFolder, unit: Unit, tried: Tried | None, tries: int, cost: float | None
) -> UnitView:
    if tried is None:
        return UnitView(unit, WAITING, 0, 0, 0.0, 0.0, "", "", None)
    own = folder.unit_folder(unit.unit)
    there = (
        name for name in ("run/report.html", "build.txt", "run/run.json") if (own / name).is_file()
    )
    link = next((f"units/{unit.unit}/{name}" for name in there), "")
    facts = (
        tried.outcome,
        tries,
        tried.attempts,
        tried.seconds,
        cost,
        tried.error,
        link,
        tried.exit_code,
    )
    return UnitView(unit, *facts)


def _model_view(name: str, units: Sequence[UnitView]) -> ModelView:
    finished = [each for each in units if each.is_finished]
    samples = [Sample(each.outcome == REACHED, each.cost) for each in finished]
    costs = [each.cost for each in units]
    known = [cost for cost in costs if cost is not None]
    return ModelView(
        name,
        units,
        _bars(units),
        len(finished),
        sum(each.reached for each in samples),
        success_rate(samples),
        price_of_success(samples),
        sum(known) if len(known) == len(costs) else None,
        sum(each.seconds for each in finished) / (len(finished) or 1),
        sum(each.attempts for each in finished) / (len(finished) or 1),
    )


def _bars(units: Sequence[UnitView]) -> list[Bar]:
    counts = Counter((each.tone, each.outcome) for each in units)
    order = {"good": 0, "bad": 1, "open": 2}
    bars, start = [], 0.0
    for (tone, outcome), count in sorted(
        counts.items(), key=lambda row: (order[row[0][0]], -row[1], row[0][1])
    ):
        width = 100 * count / len(units)
        bars.append(Bar(outcome, tone, count, start, width))
        start += width
    return bars


def _causes(units: Sequence[UnitView]) -> list[Cause]:
    """Group failures by their first error line, the largest group first."""
    grouped: dict[str, list[UnitView]] = {}
    for each in units:
        if each.tone == "bad":
            first = (
                each.error.splitlines()[0]
                if each.error.strip()
                else f"{each.outcome}, without an error message"
            )
            grouped.setdefault(_NUMBER.sub("0", _PLACE.sub("…/", first)), []).append(each)
    causes = [
        Cause((rows[0].error.splitlines() or [text])[0][:_LONGEST_CAUSE] or text, rows)
        for text, rows in grouped.items()
    ]
    return sorted(causes, key=lambda cause: -len(cause.units))


def page(view: FleetView) -> str:
    """Return the page. All values are escaped."""
    style = (files("code_commit_fleet") / "templates" / "style.css").read_text("utf-8")
    environment = Environment(
        loader=PackageLoader("code_commit_fleet"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters |= {
        "money": _money,
        "percent": _percent,
        "duration": duration,
        "priced": _priced,
    }
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    own = {"style": Markup(style), "style_hash": f"sha256-{digest}"}  # noqa: S704 - our own file
    text: str = environment.get_template("report.html.jinja").render(view=view, **own)
    return text


def _visible(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _money(usd: float | None) -> str:
    return "?" if usd is None else f"${usd:,.4f}" if usd < 1 else f"${usd:,.2f}"


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    assert interval.low is not None
    assert interval.high is not None
    return f"{interval.value:.0%} ({interval.low:.0%} to {interval.high:.0%})"


def _priced(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    limits = "" if interval.low is None else f" ({_money(interval.low)} to {_money(interval.high)})"
    return f"{_money(interval.value)}{limits}"
