"""The acceptance checks of this plugin, by its settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from code_commit.plugin_api import Submission, Verdict, count_of
from code_commit_workspace import normalise_path

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_acceptance.file_change import FileChange
    from code_commit_acceptance.settings import AcceptanceSettings
    from code_commit_acceptance.signals import Signal


class Checks:
    """The three checks, which read the changed files once."""

    def __init__(self, settings: AcceptanceSettings) -> None:
        self._settings = settings
        self._read: tuple[Submission, list[FileChange]] | None = None

    def judge_signals(self, run: Run, submission: Submission) -> Verdict:
        """Look for signs in the diff that the change weakens what checks it."""
        if self._settings.signals == "off":
            return Verdict(accepted=True)
        signals = self._signals(run, submission)
        notes = [f"{signal.level}: {signal.text}" for signal in signals]
        warnings = [signal.text for signal in signals if signal.level == "warning"]
        trailers = {"Signals": count_of(len(warnings), "warning") if warnings else "none"}
        if not warnings or self._settings.signals == "warn":
            return Verdict(accepted=True, notes=notes, trailers=trailers)
        reason = (
            f"the change weakens what checks it: {'; '.join(warnings)}\n"
            "Make the change without weakening tests, their helpers and their configuration."
        )
        return Verdict(accepted=False, reason=reason, notes=notes, trailers=trailers)

    def judge_by_tests_of_before(self, run: Run, submission: Submission) -> Verdict:
        """Build once more with the tests from before the run, if the change altered some."""
        if self._settings.tests_of_before == "off":
            return Verdict(accepted=True)
        from code_commit_acceptance.tests_of_before import judge_by_tests_of_before

        signals = self._signals(run, submission)
        return judge_by_tests_of_before(
            run,
            self._not_allowed(run, submission),
            self._settings.tests_of_before,
            is_suspect=any(signal.level == "warning" for signal in signals),
        )

    def judge_by_review(self, run: Run, submission: Submission) -> Verdict:
        """Ask the reviewer, if the user wants a review."""
        if not (self._settings.review or submission.review):
            return Verdict(accepted=True)
        from code_commit_acceptance.review import judge_by_review

        return judge_by_review(run, submission, self._changes(run, submission))

    def _signals(self, run: Run, submission: Submission) -> list[Signal]:
        from code_commit_acceptance.signals import find_signals

        return find_signals(self._not_allowed(run, submission))

    def _not_allowed(self, run: Run, submission: Submission) -> list[FileChange]:
        """Return the changes, without check files that the query means to change."""
        allowed = [normalise_path(path).rstrip("/") for path in submission.allowed_tests]
        return [
            change
            for change in self._changes(run, submission)
            if not _is_below(change.path, allowed)
        ]

    def _changes(self, run: Run, submission: Submission) -> list[FileChange]:
        if self._read is None or self._read[0] is not submission:
            from code_commit_acceptance.file_change import FileChange

            originals = submission.originals
            if originals is None:
                originals = run.originals([change.path for change in submission.changes])
            changes = [
                FileChange(change.path, originals[change.path], change.content)
                for change in submission.changes
            ]
            self._read = (submission, changes)
        return self._read[1]


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
