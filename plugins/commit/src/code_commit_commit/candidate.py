"""One of several first responses, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from code_commit.plugin_api import Event, LimitReached, ProviderFailed, cost_of

if TYPE_CHECKING:
    from code_commit.plugin_api import (
        Arrival,
        CallsAtOnce,
        Change,
        CodeCommitError,
        Completion,
        Json,
    )
    from code_commit_commit.attempt import Attempt
    from code_commit_commit.attempts import Attempts
    from code_commit_commit.request import Prompt

Outcome = Literal[
    "accepted",
    "unchanged",
    "not_accepted",
    "red",
    "unusable",
    "refused",
    "failed",
    "left_out",
    "cancelled",
]
"""What became of a candidate, the best first.

`unchanged`: the response changes nothing, and the build is green. `not_accepted`: the build is
green, and an acceptance check refuses the change. `unusable`: the response was not applied, and may
be repaired; `refused`: it was not applied. `failed`: the service did not answer. `left_out`: the
call could exceed a limit. `cancelled`: another candidate was accepted before.
"""

_RANKS = get_args(Outcome)
_WORDS: Mapping[Outcome, str] = {
    "unchanged": "nothing would change",
    "not_accepted": "not accepted",
    "red": "the build is red",
    "unusable": "the response cannot be applied",
    "refused": "the response was refused",
    "failed": "no answer",
    "left_out": "not asked",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, slots=True)
class CandidateJudged(Event):
    """A candidate was tried, or was not needed. `call` is the number of its call."""

    kind: ClassVar[str] = "commit.judged"
    number: int
    model: str
    call: int
    outcome: Outcome
    reason: str


@dataclass(slots=True, eq=False)
class Candidate:
    """One of several first responses.

    `call` is the number of its latest call, `context` has the spans of the call, and `error` is
    that of the call. `effect` has the changes that differ from the disk. `twin` is an earlier
    candidate with the same effect.
    """

    number: int  # from 1
    attempts: Attempts
    prompt: Prompt
    attempt: Attempt
    call: int = 0
    context: Context = field(default_factory=copy_context, repr=False)
    completions: list[Completion] = field(default_factory=list, repr=False)
    error: CodeCommitError | None = None
    effect: frozenset[Change] = field(default_factory=frozenset, repr=False)
    twin: Candidate | None = None
    outcome: Outcome = "cancelled"
    reason: str = ""

    def __str__(self) -> str:
        return f"candidate {self.number} ({self.model})"

    @property
    def model(self) -> str:
        """The name of its model."""
        return self.attempts.model.name

    @property
    def rank(self) -> int:
        """How far it came; 0 is the best."""
        return _RANKS.index(self.outcome)

    @property
    def ends_the_search(self) -> bool:
        """Whether no other candidate is needed, or none can be judged any more."""
        build = self.attempt.build
        return self.outcome == "accepted" or bool(build and build.tampered)

    def ask(self, calls: CallsAtOnce) -> None:
        """Start the call with its prompt."""
        self.call = self.attempts.start(self.prompt, calls)

    def reads_more(self, arrival: Arrival, calls: CallsAtOnce) -> bool:
        """Read the response that arrived, and ask again if it requests files instead of changes.

        Return whether it does.
        """

        def complete() -> Completion:
            completion = arrival.result()
            self.completions.append(completion)
            return completion

        try:
            following = self.attempts.read(self.prompt, self.attempt, complete)
            if following is None:
                return False
            self.prompt = following
            self.ask(calls)
        except (ProviderFailed, LimitReached) as error:
            self.error = error
            return False
        return True

    def take_build(self, twin: Candidate) -> None:
        """Take the build of an earlier candidate with the same changes."""
        self.twin = twin
        self.attempt.applied = twin.attempt.applied
        self.attempt.build = twin.attempt.build
        self.attempt.cannot_run = twin.attempt.cannot_run
        self.attempt.verdict = twin.attempt.verdict

    def judge(self, *, is_built: bool) -> None:
        """Say what became of it, from its attempt. Without builds, a usable response is enough."""
        attempt = self.attempt
        self.reason = ""
        if self.error:
            self.outcome = "left_out" if isinstance(self.error, LimitReached) else "failed"
            self.reason = self.error.message
        elif attempt.refused:
            self.outcome = "unusable" if attempt.may_repair else "refused"
            self.reason = attempt.refused.message
        elif is_built and not attempt.is_green:
            self.outcome = "red"
            self.reason = attempt.build_state
        elif is_built and not attempt.applied:
            self.outcome = "unchanged"
            self.reason = "every file already has the content of the response"
        elif is_built and not attempt.is_accepted:
            self.outcome = "not_accepted"
            self.reason = self._refused_by_check()
        else:
            self.outcome = "accepted"
        if self.twin:
            self.reason = f"the same changes as {self.twin}; {self.reason}"

    def _refused_by_check(self) -> str:
        verdict = self.attempt.verdict
        return f"{verdict.refused_by}: {verdict.headline}" if verdict else ""

    def described(self) -> str:
        """Return why it fell, for people; an empty text if it did not."""
        if self.outcome == "accepted":
            return ""
        words = _WORDS[self.outcome]
        if self.reason.startswith(words):
            return f"{self}: {self.reason}"
        return f"{self}: {words}: {self.reason}"

    def event(self) -> CandidateJudged:
        """Return the event that says what became of it."""
        return CandidateJudged(self.number, self.model, self.call, self.outcome, self.reason)

    def row(self, *, priced: bool) -> Json:
        """Return what programs learn of it; `priced` looks prices up that nobody knows yet."""
        return {
            "model": self.model,
            "number": self.number,
            "outcome": self.outcome,
            "reason": self.reason,
            "cost": self._cost(priced=priced),
        }

    def _cost(self, *, priced: bool) -> float | None:
        """Return the cost in USD, or None if that of a call is unknown."""
        costs = []
        for completion in self.completions:
            cost = completion.cost
            if cost is None and priced:
                cost = cost_of(completion.model, completion.usage)
            if cost is None:
                return None
            costs.append(cost)
        return sum(costs) if costs else None
