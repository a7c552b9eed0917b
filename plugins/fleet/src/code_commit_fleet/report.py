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
from code_commit_fleet.fleet_folder import (
    REACHED,
    SKIPPED,
    WAITING,
    FleetFolder,
    Tried,
    latest,
    waiting,
)
from code_commit_fleet.plan import Plan, Unit
from code_commit_fleet.status import folder_of
from code_commit_fleet.worker_keys import worker_redactor

FILE = "report.html"

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
        return Counter(unit.outcome for unit in self.units)


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
    for tried in tries:
        counts[tried.unit] += 1
        costs[tried.unit] = _sum(costs.get(tried.unit, 0.0), tried.cost)
    units = [
        _unit_view(folder, unit, last.get(unit.unit), counts[unit.unit], costs.get(unit.unit, 0.0))
        for unit in plan.units
    ]
    models = list(dict.fromkeys(unit.model for unit in plan.units))
    repositories = list(dict.fromkeys(unit.repository for unit in plan.units))
    by_place = {(view.unit.repository, view.unit.model): view for view in units}
    known_costs = [tried.cost for tried in tries if tried.cost is not None]
    return FleetView(
        name=folder.file.stem,
        units=units,
        models=[
            _model_view(model, [view for view in units if view.unit.model == model])
            for model in models
        ],
        causes=_causes(units),
        cost=sum(known_costs),
        cost_is_known=len(known_costs) == len(tries),
        pilot=plan.pilot,
        rows=[
            (repository, [by_place.get((repository, model)) for model in models])
            for repository in repositories
        ],
    )


def _sum(cost: float | None, added: float | None) -> float | None:
    """Return the sum of two costs, or None if one of them is unknown."""
    if cost is None or added is None:
        return None
    return cost + added


def _unit_view(
    folder: FleetFolder,
    unit: Unit,
    tried: Tried | None,
    tries: int,
    cost: float | None,
) -> UnitView:
    tried = tried or waiting(unit)
    return UnitView(
        unit=unit,
        outcome=tried.outcome,
        tries=tries,
        attempts=tried.attempts,
        seconds=tried.seconds,
        cost=cost,
        error=tried.error,
        link=_link(folder, unit) if tries else "",
        exit_code=tried.exit_code,
    )


def _link(folder: FleetFolder, unit: Unit) -> str:
    """Return the best file about a unit, relative to the page, or ""."""
    own = folder.unit_folder(unit.unit)
    for name in ("run/report.html", "build.txt", "run/run.json"):
        if (own / name).is_file():
            return f"units/{unit.unit}/{name}"
    return ""


def _model_view(name: str, units: Sequence[UnitView]) -> ModelView:
    finished = [unit for unit in units if unit.is_finished]
    samples = [Sample(unit.outcome == REACHED, unit.cost) for unit in finished]
    known_costs = [unit.cost for unit in units if unit.cost is not None]
    count = len(finished) or 1
    return ModelView(
        name=name,
        units=units,
        bars=_bars(units),
        finished=len(finished),
        reached=sum(sample.reached for sample in samples),
        rate=success_rate(samples),
        price=price_of_success(samples),
        cost=sum(known_costs) if len(known_costs) == len(units) else None,
        seconds=sum(unit.seconds for unit in finished) / count,
        attempts=sum(unit.attempts for unit in finished) / count,
    )


def _bars(units: Sequence[UnitView]) -> list[Bar]:
    """Return a bar for each outcome: the good ones first, then the most frequent ones."""
    counts = Counter((unit.tone, unit.outcome) for unit in units)
    bars = []
    start = 0.0
    for tone in ("good", "bad", "open"):
        rows = [(outcome, count) for (of, outcome), count in counts.items() if of == tone]
        rows.sort(key=lambda row: (-row[1], row[0]))
        for outcome, count in rows:
            width = 100 * count / len(units)
            bars.append(Bar(outcome, tone, count, start, width))
            start += width
    return bars


def _causes(units: Sequence[UnitView]) -> list[Cause]:
    """Group failures by their first error line, the largest group first."""
    groups: dict[str, list[UnitView]] = {}
    for unit in units:
        if unit.tone == "bad":
            text = _first_line(unit.error) or f"{unit.outcome}, without an error message"
            groups.setdefault(_NUMBER.sub("0", _PLACE.sub("…/", text)), []).append(unit)
    causes = []
    for text, failures in groups.items():
        shown = _first_line(failures[0].error)[:_LONGEST_CAUSE] or text
        causes.append(Cause(shown, failures))
    return sorted(causes, key=lambda cause: -len(cause.units))


def _first_line(error: str) -> str:
    return error.splitlines()[0] if error.strip() else ""


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
    text: str = environment.get_template("report.html.jinja").render(
        view=view,
        style=Markup(style),  # noqa: S704 - our own file
        style_hash=f"sha256-{digest}",
    )
    return text


def _visible(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


def _money(usd: float | None) -> str:
    if usd is None:
        return "?"
    return f"${usd:,.4f}" if usd < 1 else f"${usd:,.2f}"


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    assert interval.low is not None
    assert interval.high is not None
    return f"{interval.value:.0%} ({interval.low:.0%} to {interval.high:.0%})"


def _priced(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    price = _money(interval.value)
    if interval.low is None:
        return price
    return f"{price} ({_money(interval.low)} to {_money(interval.high)})"
