"""One attempt of a run: a response, and how far it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_commit_commit.prompts import build_end, failure_text
from code_commit_commit.validation import UnusableResponse

if TYPE_CHECKING:
    from code_commit.plugin_api import Change, ProcessResult, ResponseRefused, Verdict


@dataclass(slots=True)
class Attempt:
    """One attempt, or, with the number 0, the state before the first one.

    `build`, `cannot_run` and `verdict` are about the files as they are: an attempt whose response
    is refused has those of the attempt before.
    """

    number: int = 0
    response: str = field(default="", repr=False)
    changes: Sequence[Change] = field(default=(), repr=False)
    # The files as the model saw them.
    bases: Mapping[str, bytes | None] = field(default_factory=dict, repr=False)
    applied: bool = False  # False also if the changes are on disk already
    refused: ResponseRefused | None = None
    build: ProcessResult | None = None
    cannot_run: str = ""  # why build.sh cannot run after a change of a response
    verdict: Verdict | None = None  # of the acceptance checks, after a green build

    def following(self) -> Attempt:
        """Return the next attempt, before its call."""
        return Attempt(
            self.number + 1,
            build=self.build,
            cannot_run=self.cannot_run,
            verdict=self.verdict,
        )

    @property
    def is_accepted(self) -> bool:
        """Whether the build is green and no acceptance check refuses the change."""
        return self.is_green and (self.verdict is None or self.verdict.accepted)

    @property
    def is_built(self) -> bool:
        """Whether the response was not refused, and the build was run, or cannot run."""
        return self.refused is None and bool(self.build_state or self.build)

    @property
    def is_green(self) -> bool:
        """Whether the build passes."""
        return self.build is not None and self.build.passed

    @property
    def may_repair(self) -> bool:
        """Whether another attempt may follow."""
        return self.refused is None or isinstance(self.refused, UnusableResponse)

    @property
    def refusal(self) -> str:
        """Why the response was not applied; an empty text if it was."""
        return str(self.refused or "")

    @property
    def build_state(self) -> str:
        """How the latest build ended, or why it cannot run; an empty text before the first one."""
        if self.cannot_run:
            return self.cannot_run
        return build_end(self.build) if self.build else ""

    @property
    def failed_state(self) -> str:
        """Why the latest build, or an acceptance check, makes the attempt a failed one."""
        if self.verdict and not self.cannot_run:
            return f"the build passes, but {self.verdict.refused_by} refuses the change"
        return f"the build is red: {self.build_state}"

    def failure(self, returned: str) -> str:
        """Return why the attempt failed, for the repair prompt.

        `returned` has the files that the model had not seen.
        """
        not_accepted = self.verdict.reason if self.verdict else ""
        return failure_text(self.refusal, self.build, returned, self.cannot_run, not_accepted)
