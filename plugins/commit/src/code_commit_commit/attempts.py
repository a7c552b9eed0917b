"""The attempts of one model: ask, check, apply, build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    Conflict,
    MessageLogged,
    NotReady,
    ResponseRefused,
    Result,
    Submission,
)
from code_commit_commit.kept_form import KeptForms
from code_commit_commit.replacements import Replacements
from code_commit_commit.validation import (
    changed_by_somebody,
    malformed_is_refused,
    read_changes,
)

if TYPE_CHECKING:
    from code_commit.plugin_api import CallsAtOnce, Change, Completion, Model, Run
    from code_commit_commit.attempt import Attempt
    from code_commit_commit.beginning import Beginning
    from code_commit_commit.request import Prompt


class Attempts:
    """Makes the attempts of a model, and knows what they changed."""

    def __init__(self, run: Run, model: Model, start: Beginning) -> None:
        self._run = run
        self.model = model
        self._format = start.response_format
        self._query = start.context.query
        self._seen = start.seen
        self._prompts = start.prompts
        self._forms = KeptForms(run)
        self._watch = start.prompts.watch(self._format.watch(run.max_files))
        self._seen_before_build = start.seen
        self.replacements = self._new_replacements()

    def make(self, prompt: Prompt, attempt: Attempt) -> Attempt:
        """Ask, and apply the response and build, unless it is refused or the run writes nothing.

        Ask again with the files that a response requests instead of changing any.
        """
        following: Prompt | None = prompt
        while following:
            complete = partial(self._complete, following)
            following = self.read(following, attempt, complete)
        if not (attempt.refused or self._run.options.dry_run):
            self.build(attempt)
        return attempt

    def _complete(self, prompt: Prompt) -> Completion:
        if self._run.options.dry_run:
            return self.model.complete(prompt.request, **self._options(prompt))
        with self._run.baseline():
            return self.model.complete(prompt.request, **self._options(prompt))

    def start(self, prompt: Prompt, calls: CallsAtOnce) -> int:
        """Ask as one of several calls, and return the number of the call."""
        return calls.start(self.model, prompt.request, **self._options(prompt))

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        return {"label": prompt.label, "watch": self._watch, "parts": prompt.parts}

    def read(
        self,
        prompt: Prompt,
        attempt: Attempt,
        complete: Callable[[], Completion],
    ) -> Prompt | None:
        """Take the completion, and read the changes of the response, unless it is refused.

        Return the next prompt if it requests files instead.
        """
        try:
            completion = complete()
            attempt.response = completion.text
            with malformed_is_refused(completion, self._run):
                following = self._prompts.following(prompt, completion)
            if following:
                return following
            attempt.changes, attempt.bases = read_changes(
                completion, self._run, self._format, prompt.shown, self._seen, self._forms
            )
        except ResponseRefused as refused:
            attempt.refused = refused
        return None

    def build(self, attempt: Attempt) -> None:
        """Apply the changes unless they are refused, and run `build.sh` if it can run then."""
        self._seen_before_build = self._seen.copy()
        try:
            attempt.applied = self._apply(attempt.changes, attempt.bases)
        except ResponseRefused as refused:
            attempt.refused = refused
            return
        attempt.cannot_run = ""
        if self.replacements.latest:
            attempt.cannot_run = _why_build_cannot_run(self._run)
        if not attempt.cannot_run:
            attempt.build = self._run.build()
        self._accept(attempt)

    def _new_replacements(self) -> Replacements:
        return Replacements(self._run, self._seen)

    def _apply(self, changes: Sequence[Change], bases: Mapping[str, bytes | None]) -> bool:
        """Apply `changes`; return False if they are on disk already.

        Raises:
            ResponseRefused: somebody changed one of the files at the same places.
        """
        try:
            return self.replacements.apply(changes, bases)
        except Conflict as conflict:
            raise changed_by_somebody(conflict.paths, self._run, self._seen) from conflict

    def _accept(self, attempt: Attempt) -> None:
        """Ask the acceptance checks about the changes, if the build is green.

        They are not asked again about a response that changes nothing.
        """
        if not (attempt.build and attempt.build.passed):
            attempt.verdict = None
            return
        if attempt.verdict and not attempt.applied:
            return
        submission = Submission(
            changes=self.replacements.net,
            query=self._query,
            build=attempt.build,
            allowed_tests=self._run.options.allow_tests,
            review=self._run.options.review,
        )
        attempt.verdict = self._run.accept(submission) if submission.changes else None

    def apply_again(self, attempt: Attempt) -> None:
        """Apply the changes of the first attempt again, which were moved back after their build.

        Raises:
            ResponseRefused: somebody changed one of the files at the same places.
        """
        self._seen.take(self._seen_before_build)
        self.replacements = self._new_replacements()
        self._apply(attempt.changes, attempt.bases)

    def repair_prompt(self, attempt: Attempt) -> Prompt:
        """Return the prompt that repairs a failed attempt."""
        failure = attempt.failure(self._seen.returned)
        return self._prompts.repair(failure, self.replacements.now())

    def named(self, result: Result) -> Result:
        """Return the result of the run: only one of several candidates has more to say."""
        return result


def _why_build_cannot_run(run: Run) -> str:
    """Return why `build.sh` cannot run after a change of a response, or an empty text."""
    try:
        run.build_command()
    except NotReady as error:
        reason = f"build.sh cannot run: {error.message}"
        run.emit(MessageLogged(reason, level="warning"))
        return reason
    return ""
