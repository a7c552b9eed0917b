"""Acceptance checks: whether a change stands whose build is green."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from code_commit.plugin_api.conversation import Json
    from code_commit.plugin_api.run import Run
    from code_commit_workspace import Change, ProcessResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What a workflow submits to the acceptance checks, after a green build.

    `changes` has the latest change of each file that differs from before the run, sorted by path.
    `originals` has these files as they were before, if the work began in an earlier run; without
    it, `Run.originals` returns them. `allowed_tests` are the files and folders of tests that the
    query means to change. `review` is whether the user asked for a review.
    """

    changes: Sequence[Change] = field(repr=False)
    query: str = field(repr=False)
    build: ProcessResult
    allowed_tests: Sequence[str] = ()
    review: bool = False
    originals: Mapping[str, bytes | None] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a change stands.

    `reason` says why not, for the model that repairs it; people see its first line. `notes` are
    lines for people. `trailers` are facts for the end of a commit message, by name, such as
    `Reviewed-By`. The host sets `refused_by`: the check that refused, and its distribution.
    """

    accepted: bool
    reason: str = ""
    notes: Sequence[str] = ()
    trailers: Mapping[str, str] = field(default_factory=dict)
    refused_by: str = ""

    @property
    def headline(self) -> str:
        """The first line of the reason."""
        return self.reason.partition("\n")[0]

    @property
    def data(self) -> Json:
        """The verdict for programs."""
        return {
            "accepted": self.accepted,
            "refused_by": self.refused_by,
            "reason": self.headline,
            "notes": list(self.notes),
            "trailers": dict(self.trailers),
        }


@dataclass(frozen=True, slots=True)
class AcceptanceCheck:
    """A check of changes whose build is green.

    `accept` may read files and build in a `Run.trial`; what it changes outside of one stays. It
    may ask the models of the roles that the workflow has, and models by their names. `roles` and
    `models` are the roles and the names of those that it asks in each run: an unknown name or a
    missing key ends the run before the first call.
    """

    name: str
    accept: Callable[[Run, Submission], Verdict]
    roles: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
