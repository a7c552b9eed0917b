"""Several candidates for the first attempt: ask at once, try each response, keep or repair one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    LimitReached,
    MessageLogged,
    ProviderFailed,
    ResponseRefused,
    Result,
)
from code_commit_commit.attempt import Attempt
from code_commit_commit.attempts import Attempts
from code_commit_commit.candidate import Candidate
from code_commit_commit.replacements import differs

if TYPE_CHECKING:
    from code_commit.plugin_api import Arrival, CallsAtOnce, CodeCommitError, Model, Run
    from code_commit_commit.beginning import Beginning
    from code_commit_commit.replacements import Replacements
    from code_commit_commit.request import Prompt

_PRICED_SECONDS = 1.0  # for calls that take no longer, the list of prices is not worth its time


class Candidates:
    """Makes the first attempt with several candidates, and further ones with the chosen one.

    It takes the place of `Attempts`. `start` is the beginning of the run for each of `models`.
    """

    def __init__(self, run: Run, models: Sequence[Model], start: Beginning) -> None:
        self._run = run
        self._models = models
        self._start = start
        self._candidates: list[Candidate] = []
        self._tried: list[Candidate] = []
        self._chosen: Candidate | None = None
        self._seconds = 0.0

    @property
    def model(self) -> Model:
        """The model of the chosen candidate."""
        return self._of_chosen.model

    @property
    def replacements(self) -> Replacements:
        """What the chosen candidate changed."""
        return self._of_chosen.replacements

    def make(self, prompt: Prompt, attempt: Attempt) -> Attempt:
        """Make an attempt: the first one with all candidates, a further one with the chosen.

        All begin with the same `prompt`.
        """
        if self._chosen:
            return self._chosen.attempts.make(prompt, attempt)
        self._chosen = self._choose(attempt)
        return self._chosen.attempt

    def repair_prompt(self, attempt: Attempt) -> Prompt:
        """Return the prompt that repairs a failed attempt of the chosen candidate."""
        return self._of_chosen.repair_prompt(attempt)

    @property
    def _of_chosen(self) -> Attempts:
        if self._chosen is None:
            raise RuntimeError("no candidate is chosen before the first attempt")
        return self._chosen.attempts

    def named(self, result: Result) -> Result:
        """Return the result of the run, which says what became of each candidate."""
        priced = self._seconds >= _PRICED_SECONDS
        rows = [candidate.row(priced=priced) for candidate in self._candidates]
        summary = f"{result.summary}; {self._chosen} of {len(rows)}"
        return replace(result, summary=summary, data={**result.data, "candidates": rows})

    def _choose(self, first: Attempt) -> Candidate:
        """Ask all candidates, try each response as it arrives, and keep the first accepted one.

        If there is none, choose the one that came furthest, with its changes in place.

        Raises:
            ProviderFailed, LimitReached: no service answered.
        """
        started = time.monotonic()
        self._candidates = list(self._new_candidates(first))
        try:
            with self._run.calls_at_once() as calls, ExitStack() as waiting:
                if not self._run.options.dry_run:
                    waiting.enter_context(self._run.baseline())
                for candidate in self._candidates:
                    candidate.ask(calls)
                for arrival in calls:
                    waiting.close()
                    [candidate] = [one for one in self._candidates if one.call == arrival.number]
                    candidate.context = arrival.context
                    arrival.context.run(self._try, candidate, arrival, calls)
                    if candidate.ends_the_search:
                        return candidate
        finally:
            self._seconds = time.monotonic() - started
            for candidate in self._candidates:
                if candidate not in self._tried:
                    self._run.emit(candidate.event())
        return self._furthest()

    def _new_candidates(self, first: Attempt) -> Iterator[Candidate]:
        """Yield a candidate for each model, which begins as a run of its own would."""
        for number, model in enumerate(self._models, 1):
            start = self._start.copy()
            attempts = Attempts(self._run, model, start)
            yield Candidate(number, attempts, start.prompt, replace(first))

    def _try(self, candidate: Candidate, arrival: Arrival, calls: CallsAtOnce) -> None:
        """Read a response, build with its changes, and say what became of the candidate."""
        is_built = not self._run.options.dry_run
        with self._run.span(
            "candidate", number=candidate.number, model=candidate.model, call=candidate.call
        ):
            if candidate.reads_more(arrival, calls):
                return
            if is_built and not (candidate.error or candidate.attempt.refused):
                self._build(candidate)
            candidate.judge(is_built=is_built)
            self._run.emit(candidate.event())
        self._tried.append(candidate)
        if text := candidate.described():
            self._run.emit(MessageLogged(text))

    def _build(self, candidate: Candidate) -> None:
        """Build with the changes of a candidate, unless an earlier one had the same changes."""
        attempt = candidate.attempt
        tree = self._run.tree
        candidate.effect = frozenset(change for change in attempt.changes if differs(change, tree))
        for other in self._tried:
            if other.attempt.is_built and other.effect == candidate.effect:
                candidate.take_build(other)
                return
        with self._run.trial() as trial:
            candidate.attempts.build(attempt)
            if attempt.is_accepted and attempt.applied:
                trial.keep()

    def _furthest(self) -> Candidate:
        """Return the candidate that came furthest, the first of several, with its changes in place.

        Raises:
            ProviderFailed, LimitReached: no service answered.
        """
        answered = [candidate for candidate in self._tried if not candidate.error]
        if not answered:
            raise self._no_answer()
        answered.sort(key=lambda candidate: candidate.rank)
        for candidate in answered:
            if candidate.context.run(self._put_in_place, candidate):
                return candidate
        return answered[0]

    def _put_in_place(self, candidate: Candidate) -> bool:
        """Apply the changes of a candidate again; return False if they are refused now."""
        attempt = candidate.attempt
        if not (attempt.is_built and attempt.applied):
            return True
        try:
            candidate.attempts.apply_again(attempt)
        except ResponseRefused as refused:
            candidate.attempt = Attempt(attempt.number, attempt.response, refused=refused)
            return False
        self._run.emit(MessageLogged(f"{candidate} came furthest: its changes are in place"))
        return True

    def _no_answer(self) -> CodeCommitError:
        """Return the error of a run without any answer."""
        errors = [candidate.error for candidate in self._tried if candidate.error]
        failures = [error for error in errors if isinstance(error, ProviderFailed)]
        reasons = "; ".join(f"{candidate}: {candidate.reason}" for candidate in self._tried)
        text = f"no candidate answered: {reasons}"
        if failures:
            return ProviderFailed(text, hint=failures[0].hint, kind=failures[0].kind)
        return LimitReached(text, hint=errors[0].hint)
