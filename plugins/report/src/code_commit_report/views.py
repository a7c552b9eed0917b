"""What the page shows of a run: calls, processes, changes, candidates, steps and notes."""

from __future__ import annotations

from dataclasses import dataclass, field

from code_commit.plugin_api import Usage, cost_of


@dataclass(slots=True)
class CallView:
    """A model call.

    Times are seconds since the epoch; `finished` is None if it is running or was killed.
    """

    number: int
    label: str
    provider: str
    model: str
    address: str
    key_source: str
    request: str
    started: float
    finished: float | None = None
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    reported_cost: float | None = None
    response: str | None = None
    error: str | None = None
    retries: list[str] = field(default_factory=list)

    @property
    def cost(self) -> float | None:
        """Return USD from the run, or else from the price list, which is slow to load."""
        if self.reported_cost is not None or self.finished is None:
            return self.reported_cost
        return cost_of(self.model, self.usage)


@dataclass(slots=True)
class ProcessView:
    """A build or a command."""

    number: int
    argv: str
    is_build: bool
    sandbox: str
    log: str
    started: float
    finished: float | None = None
    passed: bool = False
    ending: str = "unfinished"
    candidate: int | None = None


@dataclass(slots=True)
class ChangeView:
    """Applied or refused changes.

    `refused` is the reason of a refusal, `rows` are the refused paths and their reasons.
    `candidate` is the number of the one that was tried.
    """

    number: int
    at: float
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    diff: str | None = None
    refused: str | None = None
    rows: tuple[tuple[str, str], ...] = ()
    candidate: int | None = None


@dataclass(slots=True)
class NoteView:
    """Another message; `tone` is "plain" or "bad"."""

    at: float
    text: str
    tone: str = "plain"


@dataclass(slots=True)
class Chapter:
    """An attempt; without attempts, a call with its changes and processes."""

    title: str
    calls: list[CallView] = field(default_factory=list)
    changes: list[ChangeView] = field(default_factory=list)
    processes: list[ProcessView] = field(default_factory=list)


@dataclass(slots=True)
class CandidateView:
    """A candidate of the commit workflow, with what it changed and built.

    `call`, `change` and `build` are None if it came not so far.
    """

    number: int
    model: str
    outcome: str
    reason: str
    call: CallView | None = None
    change: ChangeView | None = None
    build: ProcessView | None = None

    @property
    def tone(self) -> str:
        """Return how its outcome looks: "good", "bad" or "open"."""
        return {"accepted": "good", "cancelled": "open", "unchanged": "open"}.get(
            self.outcome, "bad"
        )

    @property
    def words(self) -> str:
        """Return its outcome for people."""
        return self.outcome.replace("_", " ")


@dataclass(slots=True)
class StepView:
    """A step of a task at its place in the tree: "2.1".

    `verifies` is its exit requirement, `failures` are the reasons why attempts failed.
    """

    place: str
    title: str
    verifies: str
    state: str = "unfinished"
    failures: list[str] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """Return its depth in the tree, at most 20."""
        return min(20, self.place.count("."))

    @property
    def tone(self) -> str:
        """Return how its state looks: "good", "bad" or "open"."""
        return {"passed": "good", "failed": "bad"}.get(self.state, "open")
